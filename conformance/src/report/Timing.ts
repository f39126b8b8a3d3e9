/**
 * How long answers took in the timing lane, where nothing else loads, blocks or stops the receiver.
 */
import type { CaseRun } from "../record/Evidence.ts"
import type { TimingLane } from "./Report.ts"
import { round } from "./Steps.ts"

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 10_000, 30_000, 60_000]

/** Upper bounds of a histogram. The deadline is one, so that each entry is either in time or late. */
const endsFor = (deadline: number, longest: number): ReadonlyArray<number> => {
  const ends = [...new Set([...steps, deadline])].toSorted((a, b) => a - b)
  return longest > (ends.at(-1) ?? 0) ? [...ends, Math.ceil(longest)] : ends
}

export const timingOf = (runs: ReadonlyArray<CaseRun>, deadline: number): TimingLane => {
  const times = runs
    .filter(({ alone, lane }) => alone && lane === "timing")
    .flatMap(({ repeats, trace }) => [trace, ...repeats])
    .flatMap(({ attempts }) => attempts)
    .filter(({ exchange, kind }) => kind === "delivery" && exchange._tag === "Answered")
    .map(({ exchange }) => exchange.elapsed)
    .toSorted((a, b) => a - b)
  const longest = times.at(-1) ?? 0
  const at = (share: number): number => round(times[Math.max(0, Math.ceil(times.length * share) - 1)] ?? 0)
  const histogram = endsFor(deadline, longest)
    .map((upToMs, index, ends) => {
      const above = ends[index - 1] ?? -1
      return { upToMs, count: times.filter((time) => time > above && time <= upToMs).length }
    })
    .filter(({ count }) => count > 0)
  return { attempts: times.length, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: round(longest), histogram }
}
