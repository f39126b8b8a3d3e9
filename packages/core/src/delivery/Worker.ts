/**
 * The state of this process as a worker: its membership, the deliveries in its queue, and the results that it has not
 * recorded. The dispatcher and the sender change this state with synchronous methods. The latches wake the dispatcher's
 * loops.
 */
import { Effect, Latch } from "effect"
import { callKeyOf, callMarkOf } from "../model/CallMark.ts"
import type { LeasedDelivery } from "../model/Delivery.ts"
import { isEarly } from "../model/Delivery.ts"
import type { IntegrationId } from "../model/Ids.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { ResourceTypeTable } from "../model/ResourceType.ts"
import { ResourceTypes } from "../model/ResourceType.ts"
import type { StoreClockShape } from "../ports/StoreClock.ts"
import { storeClock } from "../ports/StoreClock.ts"
import { Agreement, OwnSettings } from "./Membership.ts"
import { CircuitBreaker } from "./CircuitBreaker.ts"
import { ClaimTimer } from "./ClaimTimer.ts"
import { DataWarnings } from "./DataWarnings.ts"
import type { Counter } from "./DeliveryMetrics.ts"
import { makeCounter } from "./DeliveryMetrics.ts"
import type { DeliverySettingsShape } from "./DeliverySettings.ts"
import { DeliverySettings } from "./DeliverySettings.ts"
import { FairQueue } from "./FairQueue.ts"
import { IntegrationHealth } from "./IntegrationHealth.ts"
import { Membership } from "./Membership.ts"
import type { Outcome } from "./RecordQueue.ts"
import { RecordQueue } from "./RecordQueue.ts"
import { StoreFailures } from "./StoreFailures.ts"
import { claimBatch, earlyPerRequest, maxUnsettled, recordDelay } from "./EngineConstants.ts"

interface WorkerParts {
  readonly settings: DeliverySettingsShape
  readonly types: ResourceTypeTable
  readonly clock: StoreClockShape
  readonly crypto: Crypto["Service"]
  readonly agreement: Agreement
  readonly counter: Counter
  readonly run: (effect: Effect.Effect<void>) => unknown
}

export class Worker {
  readonly settings: DeliverySettingsShape
  readonly types: ResourceTypeTable
  readonly clock: StoreClockShape
  readonly agreement: Agreement
  readonly counter: Counter
  readonly membership: Membership
  readonly queue: FairQueue
  readonly timer: ClaimTimer
  readonly records = new RecordQueue()
  readonly breaker = new CircuitBreaker()
  readonly changes = new Changes()
  readonly health = new IntegrationHealth()
  readonly storeFailures = new StoreFailures()
  readonly warnings: DataWarnings

  /** Open when a heartbeat must follow without delay. */
  readonly beatNow = Latch.makeUnsafe(false)
  /** Open when the collected batches must be recorded. */
  readonly recordNow = Latch.makeUnsafe(false)
  /** Open while all results are recorded. */
  readonly recordedAll = Latch.makeUnsafe(true)
  /** Open when the next claim may be due earlier than scheduled. */
  readonly claimSooner = Latch.makeUnsafe(false)

  /** Whether the process ends. It then starts no more attempts. */
  isStopping = false
  /** Time of the last successful claim; null before the first. */
  claimedAt: number | null = null
  /** Time of the next scheduled claim. */
  nextClaimAt = Number.POSITIVE_INFINITY

  readonly #crypto: Crypto["Service"]
  readonly #run: WorkerParts["run"]
  #isRecordTimed = false

  private constructor({ agreement, clock, counter, crypto, run, settings, types }: WorkerParts) {
    this.settings = settings
    this.types = types
    this.warnings = new DataWarnings(types, run)
    this.clock = clock
    this.agreement = agreement
    this.counter = counter
    this.#crypto = crypto
    this.#run = run
    this.membership = new Membership(this.#newName(), settings)
    this.queue = new FairQueue(settings)
    this.timer = new ClaimTimer({
      pollInterval: settings.pollInterval,
      minBatch: Math.min(claimBatch, Math.floor(settings.buffer / 8))
    })
  }

  static readonly make: Effect.Effect<Worker, never, DeliverySettings | Crypto> = Effect.gen(function* () {
    return new Worker({
      settings: yield* DeliverySettings,
      types: yield* ResourceTypes,
      clock: yield* storeClock,
      crypto: yield* Crypto,
      agreement: new Agreement(yield* OwnSettings),
      counter: yield* makeCounter,
      run: Effect.runForkWith(yield* Effect.context<never>())
    })
  })

  /** Returns the store's time, in milliseconds since the epoch. */
  now(): number {
    return this.clock.now()
  }

  // What is allowed now.

  /** Whether this process may hold and send deliveries at all. */
  get isActive(): boolean {
    return !this.isStopping && this.agreement.isAgreed
  }

  /**
   * Whether an attempt started now can end and be recorded before the membership expires. If that can't be known,
   * because this machine may have been suspended, the store's clock is measured at once.
   */
  mayStart(at: number): boolean {
    if (this.clock.isCertain()) return this.membership.mayStart(at)
    this.#beatUnlessFailing()
    return false
  }

  /** Whether any delivery may be sent now. */
  maySend(at: number): boolean {
    return this.isActive && this.#mayOwe() && this.mayStart(at)
  }

  /** Whether further outcomes may wait to be recorded. Allows fewer while the store refuses outcomes. */
  #mayOwe(): boolean {
    const most = this.storeFailures.has("settle") ? 1 : maxUnsettled
    return this.records.unsettled < most * this.settings.concurrency
  }

  // Results of attempts and leases.

  record(outcome: Outcome): void {
    const { delivery, countsForHealth, settlement } = outcome
    const { attempt, retry_after } = settlement
    const { id } = delivery.integration
    const { health, queue, records } = this
    if (countsForHealth && attempt !== null) health.attempted(id, attempt)
    if (retry_after !== null) health.askedToWait(id, retry_after)
    const isAcknowledged = attempt?.outcome === "acknowledged"
    if (isEarly(delivery)) {
      if (!isAcknowledged) health.stopEarly(id)
      else if (health.acknowledgedEarly(delivery, earlyPerRequest * queue.concurrencyTo(id))) this.reschedule()
    }
    if (retry_after !== null || (isEarly(delivery) && !isAcknowledged)) this.release(queue.removeOf(id, isEarly))
    this.counter.attempted(outcome)
    const isFull = records.record(outcome, this.now())
    this.recordedAll.closeUnsafe()
    if (isFull || this.isStopping) this.recordNow.openUnsafe()
    else this.recordSoon()
  }

  /**
   * Releases deliveries and makes them due at the given time. Early retries keep their scheduled time if that is later.
   */
  release(
    deliveries: ReadonlyArray<LeasedDelivery>,
    dueAt: (delivery: LeasedDelivery) => number = () => this.now()
  ): void {
    if (deliveries.length === 0) return
    for (const delivery of deliveries) {
      if (isEarly(delivery)) this.health.gaveBackEarly(delivery, this.now())
      const due_at = Math.max(delivery.early_due_at ?? 0, dueAt(delivery))
      this.records.release(this.membership.worker, { delivery_id: delivery.id, due_at })
    }
    this.recordedAll.closeUnsafe()
    this.recordNow.openUnsafe()
  }

  /**
   * Starts the timer for recording the collected results. While a batch is being recorded, the timer starts when that
   * recording ends.
   */
  recordSoon(): void {
    if (this.#isRecordTimed || this.records.isUnderWay) return
    this.#isRecordTimed = true
    this.#run(this.#recordAfterDelay)
  }

  readonly #recordAfterDelay = Effect.andThen(
    Effect.sleep(recordDelay),
    Effect.sync(() => {
      this.#isRecordTimed = false
      this.records.resume(this.now())
      if (this.records.waiting > 0) this.recordNow.openUnsafe()
      else if (this.records.hasAside) this.recordSoon()
    })
  )

  // Changes of integrations, and lost leases.

  /** Releases the queued deliveries of integrations that were changed or deleted. */
  forget(ids: Iterable<IntegrationId>): void {
    this.changes.note(ids, this.now(), this.settings.lease)
    for (const id of ids) {
      this.health.forget(id)
      this.release(this.queue.removeOf(id))
    }
  }

  /** Releases the queued deliveries of calls that have ended, given by `callKeyOf`. */
  endCalls(calls: ReadonlyArray<string>): void {
    if (calls.length === 0) return
    const before = this.changes.latest
    this.changes.noteEnds(calls, this.now(), this.settings.lease)
    this.release(this.queue.removeIf((delivery) => this.changes.hasEnded(delivery, before)))
  }

  /** Releases all queued deliveries, because any integration may have changed. */
  forgetAll(): void {
    this.changes.noteAll()
    this.releaseAll()
  }

  /** Releases all queued deliveries. */
  releaseAll(): void {
    this.release(this.queue.removeIf(() => true))
  }

  /** Notes that the answer to a store call was lost. The next heartbeat follows at once and lists this worker's deliveries. */
  noteLostAnswer(): void {
    this.membership.noteLostAnswer(this.now())
    this.beatNow.openUnsafe()
  }

  /** Drops the queued deliveries, whose leases were lost, and continues under a new worker name. */
  beginAgain(): void {
    const now = this.now()
    for (const delivery of this.queue.removeIf(() => true).filter(isEarly)) this.health.gaveBackEarly(delivery, now)
    this.changes.noteAll()
    this.membership.beginAgain(this.#newName())
  }

  #newName(): string {
    return Array.from(this.#crypto.randomBytes(8), (byte) => byte.toString(16).padStart(2, "0")).join("")
  }

  #beatUnlessFailing(): void {
    if (!this.storeFailures.has("heartbeat")) this.beatNow.openUnsafe()
  }

  // Time of the next claim.

  /**
   * Returns the time of the next claim. Claims are postponed while results can't be recorded or attempts can't start.
   */
  nextClaim(at: number): number {
    const { breaker, claimedAt, queue, settings, timer } = this
    if (!this.isActive || !this.#mayOwe()) return at + settings.pollInterval
    if (!this.mayStart(at)) {
      // The membership lapsed between two heartbeats: the clock advanced without the timers, as on a suspended machine.
      this.#beatUnlessFailing()
      return at + settings.pollInterval
    }
    // The clock was set back, so the next claim is due now.
    if (claimedAt !== null && claimedAt > at) return at
    const paused = breaker.pausedUntil(at)
    if (paused !== null) return Math.min(paused, (claimedAt ?? at) + settings.pollInterval)
    // While the breaker is open, trials use queued deliveries before more are claimed.
    if (breaker.isOpen && queue.queued > 0) return (claimedAt ?? at) + settings.pollInterval
    const early = queue.room > 0 ? this.health.nextEarly() : null
    return Math.min(timer.next(queue), early ?? Number.POSITIVE_INFINITY)
  }

  /** Wakes the claim loop if the next claim is now due earlier than scheduled. */
  reschedule(): void {
    if (this.nextClaim(this.now()) < this.nextClaimAt) this.claimSooner.openUnsafe()
  }

  /** Notes that the store may have due deliveries. */
  signal(): void {
    this.timer.signal()
    this.reschedule()
  }
}

/** A change and until when it is remembered. */
interface Remembered {
  readonly change: number
  readonly until: number
}

/** Forgets what need not be remembered any more, and remembers `keys`. */
const remember = <Key>(map: Map<Key, Remembered>, keys: Iterable<Key>, now: number, noted: Remembered): void => {
  for (const [key, { until }] of map) if (until < now) map.delete(key)
  for (const key of keys) map.set(key, noted)
}

/**
 * Numbered changes to integrations, and ends of calls. A change invalidates deliveries queued, claimed or published
 * before it.
 */
class Changes {
  #latest = 0
  #latestOfAll = 0
  readonly #byIntegration = new Map<IntegrationId, Remembered>()
  /** The calls that this process has ended, by `callKeyOf`. For other processes, an end is a change of integrations. */
  readonly #endedCalls = new Map<string, Remembered>()

  /** The number of the latest change. */
  get latest(): number {
    return this.#latest
  }

  /**
   * Records a change to integrations and remembers it for `lease` milliseconds, because a claim or publication that
   * read the old state can last that long.
   */
  note(ids: Iterable<IntegrationId>, now: number, lease: number): void {
    remember(this.#byIntegration, ids, now, { change: ++this.#latest, until: now + lease })
  }

  /** Records that calls have ended, and remembers it as long as a change to an integration. */
  noteEnds(calls: ReadonlyArray<string>, now: number, lease: number): void {
    remember(this.#endedCalls, calls, now, { change: ++this.#latest, until: now + lease })
  }

  /** Records that any integration may have changed. */
  noteAll(): void {
    this.#latestOfAll = ++this.#latest
  }

  /** Whether an integration has changed after change number `since`. */
  isVoid(id: IntegrationId, since: number): boolean {
    return (
      this.#latestOfAll > since || (this.#byIntegration.size > 0 && (this.#byIntegration.get(id)?.change ?? 0) > since)
    )
  }

  /** Whether a delivery's call has ended after change number `since`. */
  hasEnded({ event }: LeasedDelivery, since: number): boolean {
    if (this.#endedCalls.size === 0) return false
    const call = callMarkOf(event)
    return call?.isEnd === false && (this.#endedCalls.get(callKeyOf(event, call))?.change ?? 0) > since
  }
}
