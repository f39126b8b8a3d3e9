/**
 * Results to be stored: outcomes of attempts, and released deliveries. They are collected in batches; each batch is
 * recorded in one transaction.
 *
 * Plain state without timers or I/O; never fails.
 */
import type { DeliveryId } from "../model/Ids.ts"
import type { LeasedDelivery } from "../model/Delivery.ts"
import type { Release, Settlement } from "../ports/DeliveryStore.ts"

/**
 * Maximum number of outcomes and of releases recorded in one transaction. A larger transaction would delay urgent
 * deliveries.
 */
const mostOutcomes = 150
const mostReleases = 1_500

/** The result of one lease of a delivery. */
export interface Outcome {
  readonly delivery: LeasedDelivery
  readonly settlement: Settlement
  /** The worker that held the lease. */
  readonly worker: string
  /**
   * Whether the outcome counts for the integration's health. False for a probe, and for an attempt that began before a
   * change to the integration.
   */
  readonly countsForHealth: boolean
}

/** Results recorded together, all from one worker. */
export interface Batch {
  readonly worker: string
  readonly outcomes: Array<Outcome>
  releases: Array<Release>
  /** Whether the store may have recorded the batch although its answer was lost. */
  isInDoubt: boolean
}

export class RecordQueue {
  readonly #waiting: Array<Batch> = []
  #current: Batch | null = null
  #unsettled = 0
  #progressAt = 0

  /** Number of batches to be recorded. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Whether a batch is being recorded. */
  get isUnderWay(): boolean {
    return this.#current !== null
  }

  /** Whether everything is recorded. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#current === null
  }

  /** Number of outcomes that are not recorded yet. */
  get unsettled(): number {
    return this.#unsettled
  }

  /**
   * When a batch was last recorded or, if later, when the oldest waiting outcome was added. In milliseconds since the
   * epoch; null if no outcomes wait.
   */
  get unsettledSince(): number | null {
    return this.#unsettled === 0 ? null : this.#progressAt
  }

  /** Adds an outcome. Returns whether its batch is full. */
  record(outcome: Outcome, now: number): boolean {
    if (this.#unsettled++ === 0) this.#progressAt = now
    let batch = this.#waiting.at(-1)
    if (batch?.worker !== outcome.worker || batch.outcomes.length >= mostOutcomes) batch = this.#begin(outcome.worker)
    return batch.outcomes.push(outcome) >= mostOutcomes
  }

  /** Adds a delivery that a worker releases. */
  release(worker: string, release: Release): void {
    let batch = this.#waiting.at(-1)
    if (batch?.worker !== worker || batch.releases.length >= mostReleases) batch = this.#begin(worker)
    batch.releases.push(release)
  }

  /** Takes the oldest batch for recording. Call `over` when the recording ends. */
  take(): Batch | undefined {
    const batch = this.#waiting.shift()
    this.#current = batch ?? null
    return batch
  }

  /** Notes that the taken batch was recorded, or given up after a defect. */
  over(now: number): void {
    this.#unsettled -= this.#current?.outcomes.length ?? 0
    this.#current = null
    this.#progressAt = now
  }

  /** Returns all deliveries with unrecorded results. */
  ids(): ReadonlyArray<DeliveryId> {
    const batches = this.#current === null ? this.#waiting : [this.#current, ...this.#waiting]
    return batches.flatMap(({ outcomes, releases }) => [
      ...outcomes.map(({ delivery }) => delivery.id),
      ...releases.map(({ delivery_id }) => delivery_id)
    ])
  }

  #begin(worker: string): Batch {
    const batch: Batch = { worker, outcomes: [], releases: [], isInDoubt: false }
    this.#waiting.push(batch)
    return batch
  }
}
