/**
 * Counts of this process in the last hour, for rates, latencies and a chart. The samples are kept in memory and lost at
 * a restart.
 */
import { AttemptOutcome, DeliveryMetrics, storeTime } from "@doorhook/core"
import { Context, Effect, Layer } from "effect"

/** Interval between samples, and how long samples are kept, in milliseconds. */
const sampleEvery = 10_000
const keptFor = 3_600_000

/** Interval between points of the chart, in milliseconds. */
const chartStep = 60_000

/** Counts since the start of the process, with the time of the sample. */
export interface Sample extends DeliveryMetrics.Counted {
  readonly at: number
}

/** Counts of one minute. */
export interface Minute {
  /** End of the minute, in milliseconds since the epoch. */
  readonly at: number
  readonly events: number
  readonly acknowledged: number
  readonly failed: number
}

/** Counts and latencies of the last minute, or since the start of the process if that was more recent. */
export interface Lately {
  readonly seconds: number
  readonly events: number
  readonly attempts: number
  /** Number of failed attempts by outcome, the most frequent first. */
  readonly failures: ReadonlyArray<readonly [AttemptOutcome, number]>
  /**
   * Latency that this share (0 to 1) of the acknowledged attempts did not exceed, in milliseconds; null if none was
   * acknowledged.
   */
  readonly latency: (share: number) => number | null
}

export class History extends Context.Service<
  History,
  {
    readonly lately: Effect.Effect<Lately>
    /** The minutes of the last hour, oldest first. Minutes before the process started are missing. */
    readonly hour: Effect.Effect<ReadonlyArray<Minute>>
  }
>()("@doorhook/server/ui/History") {
  static readonly layer: Layer.Layer<History> = Layer.effect(
    History,
    Effect.gen(function* () {
      const now = yield* storeTime
      const sample = Effect.gen(function* () {
        return { at: now(), ...(yield* DeliveryMetrics.counted) } satisfies Sample
      })
      let samples: ReadonlyArray<Sample> = [yield* sample]
      const take = Effect.map(sample, (taken) => {
        // If the clock was set back, samples with later times are dropped.
        samples = [...samples.filter(({ at }) => at >= taken.at - keptFor && at <= taken.at), taken]
      })
      const run = Effect.runForkWith(yield* Effect.context<never>())
      // Uses a Node timer, because Effect's clock can be virtual. A virtual clock that jumps ahead by a year would
      // cause millions of samples.
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

/** Sums the counts of the wanted outcomes. */
const sumOf = (counts: Sample["attempts"], isWanted: (outcome: string) => boolean): number =>
  Object.entries(counts).reduce((sum, [outcome, count]) => sum + (isWanted(outcome) ? count : 0), 0)

/** Returns the counts and latencies between two samples. */
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

/** Returns the counts of each whole minute, going back from the last sample. */
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
