/**
 * How publishing stands. Every event that was due is accounted for: planned = accepted + failed + unanswered.
 */
import type { Measurements } from "./Measurements.ts"

/** The numbers of a run, as they stand. Times in milliseconds. */
export interface RunSummary {
  /** Events whose time had come. */
  readonly planned: number
  readonly accepted: number
  /** Deliveries that whoever took the events in said it made of them. */
  readonly deliveries: number
  /** Events that the service did not say it took, after all retries. */
  readonly failed: number
  /** Events that had been sent or were about to be when the run ended. */
  readonly unanswered: number
  /** Requests that were made again. */
  readonly retries: number
  /** How much later than planned events were first sent; null when there was no schedule to keep. */
  readonly late: { readonly p50: number; readonly p99: number; readonly max: number } | null
  /** Why the last failed request failed; null when none did. */
  readonly last_failure: string | null
}

export const summaryOf = (measured: Measurements): RunSummary => {
  const { accepted, lastFailure, lateStart: late, planned, promised, refused, retries } = measured
  return {
    planned,
    accepted,
    deliveries: promised,
    failed: refused,
    unanswered: planned - accepted - refused,
    retries,
    late: late.count === 0 ? null : { p50: late.quantile(0.5), p99: late.quantile(0.99), max: late.max },
    last_failure: lastFailure
  }
}
