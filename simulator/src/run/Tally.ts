/**
 * What a run has done so far. Every event that was due is accounted for: planned = accepted + failed + unanswered.
 */
import { Histogram } from "./Histogram.ts"

/** The numbers of a run, as they stand. Times in milliseconds. */
export interface RunSummary {
  /** Events whose time had come. */
  readonly planned: number
  readonly accepted: number
  /** Deliveries that the service made of the accepted events. */
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

export class Tally {
  #planned = 0
  #accepted = 0
  #deliveries = 0
  #failed = 0
  #retries = 0
  #lastFailure: string | null = null
  readonly #late = new Histogram()

  due(events: number): void {
    this.#planned += events
  }

  late(millis: number): void {
    this.#late.add(millis)
  }

  retried(): void {
    this.#retries++
  }

  accepted(events: number, deliveries: number): void {
    this.#accepted += events
    this.#deliveries += deliveries
  }

  failed(events: number, why: string): void {
    this.#failed += events
    this.#lastFailure = why
  }

  get summary(): RunSummary {
    const late = this.#late
    return {
      planned: this.#planned,
      accepted: this.#accepted,
      deliveries: this.#deliveries,
      failed: this.#failed,
      unanswered: this.#planned - this.#accepted - this.#failed,
      retries: this.#retries,
      late: late.count === 0 ? null : { p50: late.quantile(0.5), p99: late.quantile(0.99), max: late.max },
      last_failure: this.#lastFailure
    }
  }
}
