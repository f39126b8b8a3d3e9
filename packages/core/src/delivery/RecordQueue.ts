/**
 * What the store does not know yet: outcomes of attempts, and deliveries given back. Collected in batches, each of which is
 * recorded in one transaction.
 *
 * Plain data: nothing here waits or fails.
 */
import type { DeliveryId } from "../model/Ids.ts"
import type { LeasedDelivery } from "../model/Delivery.ts"
import type { Release, Settlement } from "../ports/DeliveryStore.ts"

/** The most outcomes, and the most releases, recorded in one transaction: more would hold up the calls behind it. */
const mostOutcomes = 150
const mostReleases = 1_500

/** How a delivery ended for now. */
export interface Outcome {
  readonly delivery: LeasedDelivery
  readonly settlement: Settlement
  /** The worker that it is leased to. */
  readonly worker: string
  /** Whether it says how its integration does: an attempt that began before a change does not, nor does a probe. */
  readonly countsForHealth: boolean
}

/** Recorded together, therefore of one worker. */
export interface Batch {
  readonly worker: string
  readonly outcomes: Array<Outcome>
  releases: Array<Release>
  /** Whether the store may have recorded it although its answer was lost. */
  isInDoubt: boolean
}

export class RecordQueue {
  readonly #waiting: Array<Batch> = []
  #current: Batch | null = null
  #unsettled = 0
  #progressAt = 0

  /** Batches that wait. */
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

  /** Outcomes that are not recorded yet. */
  get unsettled(): number {
    return this.#unsettled
  }

  /** Since when outcomes wait without any being recorded, in milliseconds since the epoch; null if none wait. */
  get unsettledSince(): number | null {
    return this.#unsettled === 0 ? null : this.#progressAt
  }

  /** Adds an outcome; says whether a batch is full. */
  record(outcome: Outcome, now: number): boolean {
    if (this.#unsettled++ === 0) this.#progressAt = now
    let batch = this.#waiting.at(-1)
    if (batch?.worker !== outcome.worker || batch.outcomes.length >= mostOutcomes) batch = this.#begin(outcome.worker)
    return batch.outcomes.push(outcome) >= mostOutcomes
  }

  /** Adds a delivery that a worker gives back. */
  release(worker: string, release: Release): void {
    let batch = this.#waiting.at(-1)
    if (batch?.worker !== worker || batch.releases.length >= mostReleases) batch = this.#begin(worker)
    batch.releases.push(release)
  }

  /** Takes the oldest batch, to be recorded now. `over` ends that. */
  take(): Batch | undefined {
    const batch = this.#waiting.shift()
    this.#current = batch ?? null
    return batch
  }

  /** The batch that was taken is recorded, or given up after a defect. */
  over(now: number): void {
    this.#unsettled -= this.#current?.outcomes.length ?? 0
    this.#current = null
    this.#progressAt = now
  }

  /** All deliveries that are not recorded yet. */
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
