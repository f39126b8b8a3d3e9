/**
 * Results to be stored: outcomes of attempts, and released deliveries. They are collected in batches; each batch is
 * recorded in one call of the store. Results that can't be recorded now are set aside and repeated later, while the others are
 * recorded: those that another transaction has locked in the store, and batches that the store refuses.
 *
 * Plain state without timers or I/O; never fails.
 */
import type { DeliveryId, IntegrationId } from "../model/Ids.ts"
import type { LeasedDelivery } from "../model/Delivery.ts"
import type { Release, Settlement } from "../ports/DeliveryStore.ts"
import { pauseAfter } from "./StoreFailures.ts"
import { longestPause, mostOutcomes, mostReleases } from "./EngineConstants.ts"

/** Returns the pause before results that another transaction has locked are repeated, in milliseconds. */
const lockedPause = (tries: number): number => Math.min(25 * 2 ** (tries - 1), 400)

/** The result of one lease of a delivery. */
export interface Outcome {
  readonly delivery: LeasedDelivery
  readonly settlement: Settlement
  /** The worker of the lease. */
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
  outcomes: Array<Outcome>
  releases: Array<Release>
  /** How often its results were set aside. */
  readonly tries: number
  /** Whether the store has refused it. */
  readonly isRefused: boolean
  /** Whether the store found an outcome stale. */
  isStale: boolean
}

/** A batch that is set aside, and when it is repeated, in milliseconds since the epoch. */
interface Aside {
  readonly batch: Batch
  readonly dueAt: number
}

const halvesOf = (batch: Batch): ReadonlyArray<Batch> => {
  const { outcomes, releases } = batch
  const [middle, other] = [Math.ceil(outcomes.length / 2), Math.floor(releases.length / 2)]
  return [
    { ...batch, outcomes: outcomes.slice(0, middle), releases: releases.slice(0, other) },
    { ...batch, outcomes: outcomes.slice(middle), releases: releases.slice(other) }
  ].filter((half) => half.outcomes.length + half.releases.length > 0)
}

export class RecordQueue {
  readonly #waiting: Array<Batch> = []
  #aside: Array<Aside> = []
  #current: Batch | null = null
  #unsettled = 0
  #progressAt = 0
  /** Number of refusals in a row. */
  #refusals = 0

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
    return this.#waiting.length === 0 && this.#current === null && !this.hasAside
  }

  /** Whether results are set aside. */
  get hasAside(): boolean {
    return this.#aside.length > 0
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
    let batch = this.#open(outcome.worker)
    if (batch.outcomes.length >= mostOutcomes) batch = this.#begin(outcome.worker)
    return batch.outcomes.push(outcome) >= mostOutcomes
  }

  /** Adds a delivery that a worker releases. */
  release(worker: string, release: Release): void {
    let batch = this.#open(worker)
    if (batch.releases.length >= mostReleases) batch = this.#begin(worker)
    batch.releases.push(release)
  }

  /** Takes the oldest batch for recording. Call `over` or `refused` when the recording ends. */
  take(): Batch | undefined {
    const batch = this.#waiting.shift()
    this.#current = batch ?? null
    return batch
  }

  /** Sets the results of these deliveries in the taken batch aside, because another transaction has locked them. */
  postpone(locked: ReadonlySet<DeliveryId>, now: number): void {
    const batch = this.#current
    if (batch === null || locked.size === 0) return
    const outcomes = batch.outcomes.filter(({ delivery }) => locked.has(delivery.id))
    const releases = batch.releases.filter(({ delivery_id }) => locked.has(delivery_id))
    batch.outcomes = batch.outcomes.filter(({ delivery }) => !locked.has(delivery.id))
    batch.releases = batch.releases.filter(({ delivery_id }) => !locked.has(delivery_id))
    const same = this.#aside.find(
      ({ batch: aside }) =>
        !aside.isRefused &&
        aside.worker === batch.worker &&
        aside.outcomes.length + outcomes.length <= mostOutcomes &&
        aside.releases.length + releases.length <= mostReleases
    )
    if (same === undefined) {
      const tries = batch.tries + 1
      this.#aside.push({
        batch: { ...newBatch(batch.worker), outcomes, releases, tries },
        dueAt: now + lockedPause(tries)
      })
    } else {
      same.batch.outcomes.push(...outcomes)
      same.batch.releases.push(...releases)
    }
  }

  /**
   * Sets the taken batch aside, because the store has refused it. From the second refusal on, its halves are repeated
   * separately: if the cause is in one result, all others are recorded in the end. Returns the pause before the next
   * batch, in milliseconds.
   */
  refused(now: number): number {
    const batch = this.#current
    this.#current = null
    if (batch !== null) {
      const parts = batch.isRefused ? halvesOf(batch) : [batch]
      const tries = batch.tries + 1
      const dueAt = now + pauseAfter(tries)
      for (const part of parts) this.#aside.push({ batch: { ...part, tries, isRefused: true }, dueAt })
    }
    return pauseAfter(++this.#refusals)
  }

  /** Notes that the taken batch was recorded, or given up after a defect. */
  over(now: number): void {
    this.#unsettled -= this.#current?.outcomes.length ?? 0
    this.#current = null
    this.#progressAt = now
    this.#refusals = 0
  }

  /** Repeats the batches that were set aside and are due. A later time than the longest pause means a clock set back. */
  resume(now: number): void {
    const isDue = ({ dueAt }: Aside): boolean => dueAt <= now || dueAt > now + longestPause
    const due = this.#aside.filter(isDue)
    if (due.length === 0) return
    this.#aside = this.#aside.filter((aside) => !isDue(aside))
    this.#waiting.push(...due.map(({ batch }) => batch))
  }

  /** Returns all deliveries with unrecorded results. */
  ids(): ReadonlyArray<DeliveryId> {
    const current = this.#current === null ? [] : [this.#current]
    return [...current, ...this.#waiting, ...this.#aside.map(({ batch }) => batch)].flatMap(
      ({ outcomes, releases }) => [
        ...outcomes.map(({ delivery }) => delivery.id),
        ...releases.map(({ delivery_id }) => delivery_id)
      ]
    )
  }

  /** Returns the integrations with more than `most` outcomes set aside. */
  crowded(most: number): ReadonlyArray<IntegrationId> {
    const counts = new Map<IntegrationId, number>()
    for (const { batch } of this.#aside)
      for (const { delivery } of batch.outcomes)
        counts.set(delivery.integration.id, (counts.get(delivery.integration.id) ?? 0) + 1)
    return [...counts].filter(([, count]) => count > most).map(([id]) => id)
  }

  /** Returns the batch that takes further results of a worker. A batch that the store has refused takes none. */
  #open(worker: string): Batch {
    const batch = this.#waiting.at(-1)
    return batch?.worker === worker && !batch.isRefused ? batch : this.#begin(worker)
  }

  #begin(worker: string): Batch {
    const batch = newBatch(worker)
    this.#waiting.push(batch)
    return batch
  }
}

const newBatch = (worker: string): Batch => ({
  worker,
  outcomes: [],
  releases: [],
  tries: 0,
  isRefused: false,
  isStale: false
})
