/**
 * What this process has counted in the last hour: samples in memory, from which rates, latencies and a chart are made. A restart
 * forgets them.
 */
import { AttemptOutcome, DeliveryMetrics } from "@doorhook/core"
import { Clock, Context, Effect, Layer } from "effect"

/** How often counts are taken, and how long they are kept, in milliseconds. */
const sampleEvery = 10_000
const keptFor = 3_600_000

/** How far apart the points of the chart are, in milliseconds. */
const chartStep = 60_000

/** Counts since the start of the process, at a time. */
export interface Sample extends DeliveryMetrics.Counted {
  readonly at: number
}

/** What happened in a minute. */
export interface Minute {
  /** Its end, in milliseconds since the epoch. */
  readonly at: number
  readonly events: number
  readonly acknowledged: number
  readonly failed: number
}

/** The last minute, or as much of it as the process has run. */
export interface Lately {
  readonly seconds: number
  readonly events: number
  readonly attempts: number
  /** Attempts that were not acknowledged, by outcome, the most frequent first. */
  readonly failures: ReadonlyArray<readonly [AttemptOutcome, number]>
  /** How long the given share of acknowledged attempts took at most, in milliseconds; null when there were none. */
  readonly latency: (share: number) => number | null
}

export class History extends Context.Service<
  History,
  {
    readonly lately: Effect.Effect<Lately>
    /** The last hour, minute by minute, the oldest first: as many as the process has run. */
    readonly hour: Effect.Effect<ReadonlyArray<Minute>>
  }
>()("@doorhook/server/ui/History") {
  static readonly layer: Layer.Layer<History> = Layer.effect(
    History,
    Effect.gen(function* () {
      const sample = Effect.gen(function* () {
        return { at: yield* Clock.currentTimeMillis, ...(yield* DeliveryMetrics.counted) } satisfies Sample
      })
      let samples: ReadonlyArray<Sample> = [yield* sample]
      const take = Effect.map(sample, (taken) => {
        // A clock that was set back begins again.
        samples = [...samples.filter(({ at }) => at >= taken.at - keptFor && at <= taken.at), taken]
      })
      const run = Effect.runForkWith(yield* Effect.context<never>())
      // A timer of the process, not of its clock: one that jumps a year ahead would take millions of samples on the way.
      yield* Effect.acquireRelease(
        Effect.sync(() => setInterval(() => run(take), sampleEvery).unref()),
        (timer) => Effect.sync(() => clearInterval(timer))
      )
      return History.of({
        lately: Effect.map(sample, (now) =>
          betweenOf(samples.find(({ at }) => at >= now.at - 60_000) ?? samples.at(-1) ?? now, now)
        ),
        hour: Effect.map(sample, (now) => minutesOf([...samples, now]))
      })
    })
  )
}

const isFailure = (outcome: string): boolean => outcome !== "acknowledged"

/** All counts of a record that its keys select. */
const sumOf = (counts: Sample["attempts"], isWanted: (outcome: string) => boolean): number =>
  Object.entries(counts).reduce((sum, [outcome, count]) => sum + (isWanted(outcome) ? count : 0), 0)

/** What happened between two samples. */
export const betweenOf = (first: Sample, last: Sample): Lately => ({
  seconds: (last.at - first.at) / 1_000,
  events: last.events_accepted - first.events_accepted,
  attempts: sumOf(last.attempts, () => true) - sumOf(first.attempts, () => true),
  failures: AttemptOutcome.literals
    .map((outcome) => [outcome, (last.attempts[outcome] ?? 0) - (first.attempts[outcome] ?? 0)] as const)
    .filter(([outcome, count]) => count > 0 && isFailure(outcome))
    .toSorted(([, a], [, b]) => b - a),
  latency: (share) => {
    const total = last.latency.count - first.latency.count
    if (total <= 0) return null
    let [lower, below] = [0, 0]
    for (const [at, [upper, count]] of last.latency.buckets.entries()) {
      const here = count - (first.latency.buckets[at]?.[1] ?? 0)
      if (here >= share * total && here > below && Number.isFinite(upper)) {
        return lower + ((upper - lower) * (share * total - below)) / (here - below)
      }
      if (Number.isFinite(upper)) [lower, below] = [upper, here]
    }
    return lower
  }
})

/** What happened in each whole minute up to the last sample. */
export const minutesOf = (samples: ReadonlyArray<Sample>): ReadonlyArray<Minute> => {
  const end = samples.at(-1)?.at ?? 0
  const begin = samples[0]?.at ?? 0
  const minutes: Array<Minute> = []
  for (let at = end; at - chartStep >= begin && minutes.length < keptFor / chartStep; at -= chartStep) {
    const last = samples.findLast((one) => one.at <= at)
    const first = samples.findLast((one) => one.at <= at - chartStep) ?? samples[0]
    if (first === undefined || last === undefined) break
    minutes.unshift({
      at,
      events: last.events_accepted - first.events_accepted,
      acknowledged: (last.attempts.acknowledged ?? 0) - (first.attempts.acknowledged ?? 0),
      failed: sumOf(last.attempts, isFailure) - sumOf(first.attempts, isFailure)
    })
  }
  return minutes
}
