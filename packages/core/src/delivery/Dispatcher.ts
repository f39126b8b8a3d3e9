/**
 * Delivers events: the loops that move deliveries between the store and this process.
 *
 * - *Publications* arrive through a `Handover`. Deliveries that fit in the queue are stored as leased to this worker
 *   and stay in memory. The others wait in the store.
 * - The *claim loop* leases due deliveries from the store when there is room (`ClaimTimer`), and early retries of
 *   integrations that catch up after an outage (`IntegrationHealth`).
 * - The *sender* takes from the fair queue (`FairQueue`) and attempts each delivery (`Sender`). The sender decides when each one starts.
 * - The *record loop* stores outcomes and releases in batches (`RecordQueue`), at the same time as publications.
 *   `model/RetryPolicy` decides when a failed attempt is retried, `delivery/HealthRules` when an integration is
 *   disabled.
 * - *Heartbeats* renew the worker's membership (`Membership`). Without a valid membership, no attempt starts.
 *
 * All of them share the state of one `Worker`.
 *
 * When the store is slow or unavailable, sending stops before too many outcomes are unrecorded. Outcomes that another
 * process's transaction has locked are recorded later, without delaying the others. If a process dies, another worker sends its
 * unrecorded deliveries again: at-least-once delivery.
 *
 * `layer` sends deliveries; `layerNone` is for a process that only accepts events.
 */
import { Cause, Context, Effect, Exit, Fiber, Layer, Metric, Semaphore } from "effect"
import type { Scope } from "effect"
import type { Lane, LeasedDelivery } from "../model/Delivery.ts"
import { isEarly } from "../model/Delivery.ts"
import * as DurationText from "../model/DurationText.ts"
import type { DeliveryId, IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import type { Crypto } from "../ports/Crypto.ts"
import type { Heartbeat, Membership as Answer, Settled } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { Directory } from "../ports/Directory.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { Transport } from "../ports/Transport.ts"
import { WakeSignal } from "../ports/WakeSignal.ts"
import { staleSettlements } from "./DeliveryMetrics.ts"
import type { DeliverySettings } from "./DeliverySettings.ts"
import { longestAttempt, settleBudget } from "./DeliverySettings.ts"
import type { DispatcherStatus } from "./DispatcherStatus.ts"
import { idleStatus } from "./DispatcherStatus.ts"
import { warnOfFailures } from "./Notifications.ts"
import { lastAttempts } from "./IntegrationHealth.ts"
import { logDefect, runForever } from "./Loops.ts"
import { Notifications } from "./Notifications.ts"
import type { Batch, Outcome } from "./RecordQueue.ts"
import { Sender } from "./Sender.ts"
import { StoreFailures, retryUntilAvailable } from "./StoreFailures.ts"
import { Worker } from "./Worker.ts"
import { claimBatch, disagreeingBeat, maxPostponed, postponedPause } from "./EngineConstants.ts"

/** Maximum number of failing integrations that the status lists. */
const worstShown = 20

/** Services that a dispatcher needs. */
type Needs = DeliveryStore | DeliverySettings | Directory | Transport | WakeSignal | Crypto | Notifications

export class Dispatcher extends Context.Service<
  Dispatcher,
  Pick<DeliveringDispatcher, "handOver" | "refused" | "forget" | "status">
>()("@doorhook/core/delivery/Dispatcher") {
  static readonly layer: Layer.Layer<Dispatcher, never, Needs> = Layer.effect(
    Dispatcher,
    Effect.suspend(() => DeliveringDispatcher.make)
  )

  /** Keeps no deliveries in memory: all of them wait in the store for another process's dispatcher. */
  static readonly layerNone: Layer.Layer<Dispatcher> = Layer.effect(
    Dispatcher,
    Effect.map(storeTime, (now) => {
      const failures = new StoreFailures()
      return {
        handOver: () => ({
          worker: "",
          keep: () => false,
          stored: () => failures.published(null, now()),
          failed: (_, error) => {
            if (error !== null) failures.published(error, now())
          }
        }),
        refused: (error) => failures.published(error, now()),
        forget: () => Effect.void,
        status: Effect.sync(() => ({ ...idleStatus, delivers: false, ...failures.status(now()) }))
      }
    })
  )
}

/** A publication that is being stored. The caller must call either `stored` or `failed`, once. */
export type Handover = Pick<KeptPublication, "worker" | "keep" | "stored" | "failed">

class KeptPublication {
  /** Name of the worker to which kept deliveries are leased. */
  readonly worker: string
  readonly #state: Worker
  readonly #sender: Sender
  readonly #since: number
  readonly #publication: { readonly began: number }
  readonly #kept: Array<{ readonly id: IntegrationId; readonly bytes: number }> = []

  constructor(state: Worker, sender: Sender) {
    this.#state = state
    this.#sender = sender
    this.worker = state.membership.worker
    this.#since = state.changes.latest
    this.#publication = { began: state.now() }
    state.membership.publications.add(this.#publication)
    if (state.records.waiting > 0) state.recordNow.openUnsafe()
  }

  /**
   * Reserves room in memory for a delivery; false if it must wait in the store. `bytes` is the size
   * of the event's data in memory.
   */
  keep(integration: Integration, lane: Lane, bytes: number): boolean {
    const { breaker, isActive, queue } = this.#state
    const isKept =
      isActive &&
      this.#state.mayStart(this.#publication.began) &&
      breaker.mayHold(integration.created_by.user_id) &&
      queue.reserve(integration.id, lane, bytes)
    if (isKept) this.#kept.push({ id: integration.id, bytes })
    return isKept
  }

  /**
   * Reports that the publication is stored. `leased` are the deliveries leased to the worker. `hasDue` is true if any
   * other delivery of the publication is due. `endedCalls` are the keys (`callKeyOf`) of calls that the publication ended.
   */
  stored(leased: ReadonlyArray<LeasedDelivery>, hasDue: boolean, endedCalls: ReadonlyArray<string>): void {
    this.#state.endCalls(endedCalls)
    const { changes, membership, queue, storeFailures, timer } = this.#state
    storeFailures.published(null, this.#state.now())
    // If the worker's name has changed, the next heartbeat releases the deliveries.
    if (this.worker !== membership.worker) this.#state.beatNow.openUnsafe()
    else
      for (const delivery of leased) {
        const isVoid = changes.isVoid(delivery.integration.id, this.#since) || changes.hasEnded(delivery, this.#since)
        if (!this.#state.isActive || isVoid) this.#state.release([delivery])
        else queue.add(delivery)
      }
    // Reservations end only after queueing, because the queue forgets an integration without deliveries.
    this.#end()
    if (hasDue) timer.signal()
    this.#sender.pumpUrgent()
    if (hasDue) this.#state.reschedule()
  }

  /**
   * Reports that the publication is not stored, or that its outcome is unknown. `error` is the store's error, if the
   * store failed.
   */
  failed(outcome: "not_stored" | "unknown", error: StoreError | null): void {
    this.#end()
    if (error !== null) this.#state.storeFailures.published(error, this.#state.now())
    if (outcome === "unknown") this.#state.noteLostAnswer()
  }

  #end(): void {
    this.#state.membership.publications.delete(this.#publication)
    for (const { bytes, id } of this.#kept) this.#state.queue.unreserve(id, bytes)
    this.#kept.length = 0
  }
}

interface DispatcherParts {
  readonly worker: Worker
  readonly sender: Sender
  readonly store: DeliveryStore["Service"]
  readonly wake: WakeSignal["Service"]
  readonly notifications: Notifications["Service"]
}

class DeliveringDispatcher {
  readonly #worker: Worker
  readonly #sender: Sender
  readonly #store: DeliveryStore["Service"]
  readonly #wake: WakeSignal["Service"]
  readonly #notifications: Notifications["Service"]
  /** Prevents claims while a heartbeat lists this worker's deliveries. */
  readonly #leasing = Semaphore.makeUnsafe(1)
  #isFirstHeartbeat = true

  private constructor({ notifications, sender, store, wake, worker }: DispatcherParts) {
    this.#worker = worker
    this.#sender = sender
    this.#store = store
    this.#wake = wake
    this.#notifications = notifications
  }

  /** Delivers until the scope closes. Then finishes the attempts in flight and releases all other deliveries. */
  static readonly make: Effect.Effect<DeliveringDispatcher, never, Needs | Scope.Scope> = Effect.gen(function* () {
    const worker = yield* Worker.make
    const dispatcher = new DeliveringDispatcher({
      worker,
      sender: yield* Sender.make(worker),
      store: yield* DeliveryStore,
      wake: yield* WakeSignal,
      notifications: yield* Notifications
    })
    yield* dispatcher.#run()
    return dispatcher
  })

  /** Begins a publication. Call it before the publication is stored. It also starts recording collected outcomes. */
  readonly handOver = (): Handover => new KeptPublication(this.#worker, this.#sender)

  /** Reports that the store has refused a publication before it was handed over. */
  readonly refused = (error: StoreError): void => this.#worker.storeFailures.published(error, this.#worker.now())

  /**
   * Releases the queued deliveries of an integration that was changed or deleted. The deliveries that are still due are
   * claimed again.
   */
  readonly forget = (integration: IntegrationId): Effect.Effect<void> =>
    // Synchronous, because removed deliveries must be released even if the caller is interrupted.
    Effect.sync(() => {
      this.#worker.forget([integration])
      this.#worker.signal()
    })

  readonly status: Effect.Effect<DispatcherStatus> = Effect.sync(() => {
    const { agreement, breaker, claimedAt, health, membership, queue, records, storeFailures } = this.#worker
    return {
      delivering: queue.inFlight,
      buffered: queue.queued,
      unsettled: records.unsettled,
      unsettled_since: records.unsettledSince,
      last_claim_at: claimedAt,
      ...storeFailures.status(this.#worker.now()),
      delivers: true,
      is_member: membership.hasBegun && agreement.isAgreed,
      settings_differ: agreement.problem,
      outage: breaker.longest,
      failing: health.failing,
      worst: health.worst(worstShown),
      catching_up: health.catchingUp
    }
  })

  // Lifecycle.

  #run(): Effect.Effect<void, never, Scope.Scope | DeliveryStore | DeliverySettings | Notifications> {
    const recording = runForever("Recording attempts", this.#record())
    const loops = Effect.all(
      [
        runForever("Claiming deliveries", this.#claim()),
        runForever(
          "Listening for wake signals",
          Effect.andThen(
            this.#wake.wait,
            Effect.sync(() => this.#worker.signal())
          )
        ),
        runForever("The heartbeat", this.#beat()),
        warnOfFailures
      ],
      { concurrency: "unbounded", discard: true }
    )
    const first = Effect.catchDefect(this.#heartbeat(false), (defect) =>
      logDefect("The heartbeat failed; it continues", defect)
    )
    return Effect.gen({ self: this }, function* () {
      yield* Effect.forkScoped(recording)
      const running = yield* Effect.forkScoped(Effect.andThen(first, loops))
      // Runs until the attempts in flight have ended. An attempt may still be waiting for the directory when its
      // integration is deleted, and must not be sent then.
      yield* Effect.forkScoped(runForever("Listening for changes", this.#followChanges()))
      yield* Effect.addFinalizer(() => this.#stop(running))
    })
  }

  /** Runs before the loops are interrupted: releases queued deliveries, finishes open attempts and records them. */
  #stop(loops: Fiber.Fiber<unknown>): Effect.Effect<void> {
    const worker = this.#worker
    return Effect.gen({ self: this }, function* () {
      worker.isStopping = true
      worker.releaseAll()
      // The membership lasts at least this long, even without another heartbeat.
      yield* this.#sender.drain(longestAttempt(worker.settings) + settleBudget)
      yield* Fiber.interrupt(loops)
      worker.releaseAll()
      worker.recordNow.openUnsafe()
      yield* Effect.timeoutOption(worker.recordedAll.await, settleBudget)
      yield* Effect.catchTag(this.#leave(worker.membership.worker), "StoreError", (error) =>
        Effect.logDebug(error.message)
      )
    })
  }

  #followChanges(): Effect.Effect<void> {
    return Effect.map(this.#wake.changes, (ids) => {
      if (ids === null) this.#worker.forgetAll()
      else this.#worker.forget(ids)
      this.#worker.signal()
    })
  }

  // Membership.

  #beat(): Effect.Effect<void> {
    const { agreement, beatNow, membership } = this.#worker
    return Effect.suspend(() =>
      Effect.timeoutOption(beatNow.await, agreement.isAgreed ? membership.interval : disagreeingBeat)
    ).pipe(
      Effect.flatMap(() => {
        beatNow.closeUnsafe()
        return membership.isInDoubt ? this.#leasing.withPermits(1)(this.#heartbeat(true)) : this.#heartbeat(false)
      })
    )
  }

  /** Renews the membership. A heartbeat that lists this worker's deliveries needs the permit of `#leasing`. */
  #heartbeat(lists: boolean): Effect.Effect<void> {
    const { storeFailures } = this.#worker
    const report = storeFailures.report("heartbeat", () => this.#worker.now())
    // On an idle service the heartbeat is the only write, so it detects a full disk before an event arrives.
    return Effect.map(Effect.catchTag(this.#renewMembership(lists), "StoreError", report), () => {
      this.#sender.pump()
      // The heartbeat may have released deliveries of a dead worker, without a wake signal.
      this.#worker.signal()
    })
  }

  #renewMembership(lists: boolean): Effect.Effect<void, StoreError> {
    const worker = this.#worker
    const { agreement, clock, membership, queue } = worker
    return Effect.gen({ self: this }, function* () {
      yield* clock.measure
      const at = worker.now()
      const spares = clock.hasJumped(worker.settings.lease)
      if (membership.hasLapsed(at) && !spares) worker.beginAgain()
      const heartbeat = {
        ...membership.heartbeat(at, lists ? this.#leasedIds() : null, spares),
        ...(agreement.settings !== null && { settings: agreement.settings })
      }
      const answer = yield* this.#store.heartbeat(heartbeat)
      worker.storeFailures.clear("heartbeat")
      yield* agreement.note(answer.disagreement)
      if (!agreement.isAgreed) return yield* this.#stepBack(heartbeat, answer)
      if (!membership.renew(heartbeat, answer)) {
        worker.beginAgain()
        // The heartbeat has begun a new membership under the old name, which would take a share of the concurrency.
        yield* this.#leave(heartbeat.worker)
        return yield* this.#renewMembership(false)
      }
      worker.release(queue.shareWith(answer))
      if (this.#isFirstHeartbeat && answer.workers > 1) yield* this.#logOthers(answer.workers - 1)
      this.#isFirstHeartbeat = false
    })
  }

  /** Returns the deliveries that are leased to this worker, as far as it knows. */
  #leasedIds(): ReadonlyArray<DeliveryId> {
    const { queue, records } = this.#worker
    return [...queue.waiting(), ...this.#sender.inFlight()].map(({ id }) => id).concat(records.ids())
  }

  /** Stops sending because the settings differ. Leaves once all attempts are recorded. */
  #stepBack(beat: Heartbeat, answer: Answer): Effect.Effect<void, StoreError> {
    const { membership, queue, records } = this.#worker
    if (!membership.hasBegun) return Effect.void
    this.#worker.releaseAll()
    if (membership.renew(beat, answer) && (queue.inFlight > 0 || !records.isEmpty)) return Effect.void
    return Effect.map(this.#leave(beat.worker), () => this.#worker.beginAgain())
  }

  /** Ends the membership of a worker name. */
  #leave(worker: string): Effect.Effect<void, StoreError> {
    return Effect.suspend(() =>
      Effect.asVoid(this.#store.heartbeat({ worker, now: this.#worker.now(), until: null, spares: true }))
    )
  }

  /** The membership of a killed worker lasts until its lease ends, so the store may still count that worker. */
  #logOthers(others: number): Effect.Effect<void> {
    const { membership, settings } = this.#worker
    const within = DurationText.format(settings.lease + membership.interval)
    return Effect.logInfo(
      `The database lists ${others} other ${others === 1 ? "worker" : "workers"}. If a worker crashed, its deliveries are sent again within ${within}.`
    )
  }

  // Recording: outcomes and releases, in batches.

  #record(): Effect.Effect<void> {
    const { recordNow, records } = this.#worker
    return Effect.flatMap(recordNow.await, () => {
      recordNow.closeUnsafe()
      return this.#recordBatches(records.waiting)
    })
  }

  /** Records `count` batches, one after the other. */
  #recordBatches(count: number): Effect.Effect<void> {
    return count <= 1 ? this.#recordBatch() : Effect.flatMap(this.#recordBatch(), () => this.#recordBatches(count - 1))
  }

  #recordBatch(): Effect.Effect<void> {
    const batch = this.#worker.records.take()
    if (batch === undefined) return Effect.void
    const recorded = Effect.onExit(this.#storeBatch(batch), (exit) => {
      this.#afterBatch(batch.isStale || (Exit.isFailure(exit) && Cause.hasDies(exit.cause)))
      return Effect.void
    })
    return Effect.flatMap(recorded, (pause) => (pause > 0 ? Effect.sleep(pause) : Effect.void))
  }

  /** Records a batch. Returns the pause before the next one, in milliseconds. */
  #storeBatch(batch: Batch): Effect.Effect<number> {
    const { records, settings, timer } = this.#worker
    const { outcomes, releases, worker } = batch
    const at = this.#worker.now()
    const settlements = outcomes.map(({ settlement }) => settlement)
    return Effect.matchEffect(this.#store.settle({ worker, settlements, releases }, at, settings.disableAfter), {
      onFailure: (error) =>
        Effect.map(this.#refused(batch, error, at), () => {
          const pause = records.refused(this.#worker.now())
          // Only now: until then, the deliveries of the batch count as this worker's.
          if (error.outcome === "unknown") this.#worker.noteLostAnswer()
          return pause
        }),
      onSuccess: (answer) => {
        this.#postpone(answer.postponed, at)
        batch.isStale = answer.applied.size < batch.outcomes.length
        if (answer.hasDueDeliveries) timer.noteDue(at)
        for (const { settlement } of batch.outcomes)
          if (settlement.next_attempt_at !== null) timer.noteDue(settlement.next_attempt_at)
        for (const { due_at } of batch.releases) timer.noteDue(due_at)
        return Effect.as(batch.outcomes.length > 0 ? this.#follow(batch.outcomes, answer, at) : Effect.void, 0)
      }
    })
  }

  /** Handles a batch that the store did not record, or whose answer was lost. */
  #refused(batch: Batch, error: StoreError, at: number): Effect.Effect<void> {
    if (error.outcome === "unknown") {
      // A released delivery may already be leased to this worker again, so it must not be released twice.
      batch.releases = []
      // The call whose answer was lost may have disabled integrations, and a repeated call does not report them again.
      this.#worker.forget(new Set(batch.outcomes.map(({ settlement }) => settlement.integration_id)))
      this.#worker.timer.noteDue(at)
    }
    return this.#worker.storeFailures.report("settle", () => this.#worker.now())(error)
  }

  /**
   * Sets results aside that another transaction in the store has locked, until it ends. An integration with many such
   * outcomes gets no more requests for now, so that others can continue.
   */
  #postpone(locked: ReadonlySet<DeliveryId>, at: number): void {
    if (locked.size === 0) return
    const { queue, records, settings } = this.#worker
    records.postpone(locked, at)
    for (const id of records.crowded(maxPostponed * settings.concurrencyPerIntegration))
      queue.pause(id, at, postponedPause)
  }

  /**
   * Cleans up after a batch. After a defect or a stale outcome, the next heartbeat does not list the batch's deliveries, so
   * the store releases them. A stale outcome may have been recorded before, by a call whose answer was lost. Then a claim
   * whose answer was lost, too, may have leased the delivery again.
   */
  #afterBatch(isInDoubt: boolean): void {
    const { recordedAll, records, storeFailures } = this.#worker
    if (records.isUnderWay) {
      records.over(this.#worker.now())
      // Called only after `over`: until then, the deliveries of the batch count as this worker's.
      if (isInDoubt) this.#worker.noteLostAnswer()
      // The failure is cleared after a defect too: if no results are left to record, no later batch would clear it.
      storeFailures.clear("settle")
    }
    if (records.isEmpty) recordedAll.openUnsafe()
    else this.#worker.recordSoon()
    this.#sender.pump()
    this.#worker.reschedule()
  }

  /**
   * Applies recorded outcomes to the state of this process. If the store's answer was lost and the outcomes are recorded
   * again, the store returns no recoveries, so retries are sent at their scheduled times. Assuming a recovery would be
   * wrong: another process may have received a `Retry-After` that early retries would violate.
   */
  #follow(outcomes: ReadonlyArray<Outcome>, answer: Settled, at: number): Effect.Effect<void> {
    const { counter, health, settings } = this.#worker
    const applyToState = Effect.suspend(() => {
      if (answer.changed.length > 0) this.#worker.forget(answer.changed)
      if (settings.catchUp) for (const recovery of answer.recovered) health.recovered(recovery, at)
      const isCurrent = answer.applied.size === outcomes.length
      const applied = isCurrent ? outcomes : outcomes.filter(({ delivery }) => answer.applied.has(delivery.id))
      counter.ended(applied)
      const counted = applied.filter(({ countsForHealth }) => countsForHealth)
      const lines = health.recorded(counted, answer.notifications, at)
      if (isCurrent && lines.length === 0) return Effect.void
      return Effect.andThen(
        Metric.update(staleSettlements, outcomes.length - applied.length),
        Effect.forEach(
          lines,
          ({ level, text }) => (level === "warn" ? Effect.logWarning(text) : Effect.logInfo(text)),
          {
            discard: true
          }
        )
      )
    })
    return answer.notifications.length === 0
      ? applyToState
      : Effect.andThen(applyToState, this.#notifications.notify(answer.notifications, lastAttempts(outcomes)))
  }

  // Claiming.

  #claim(): Effect.Effect<void> {
    const { claimSooner, membership } = this.#worker
    return Effect.gen({ self: this }, function* () {
      const at = this.#worker.now()
      this.#worker.nextClaimAt = membership.hasBegun ? this.#worker.nextClaim(at) : Number.POSITIVE_INFINITY
      const wait = this.#worker.nextClaimAt - at
      if (wait > 0) {
        yield* Number.isFinite(wait) ? Effect.timeoutOption(claimSooner.await, wait) : claimSooner.await
        claimSooner.closeUnsafe()
        return
      }
      yield* this.#claimUntilAvailable()
      // Lets the claimed deliveries start before the next claim.
      yield* Effect.yieldNow
    })
  }

  #claimUntilAvailable(): Effect.Effect<void> {
    const { membership, storeFailures } = this.#worker
    // The worker's name may have changed during a store failure or a heartbeat. Under a new name, nothing may be leased
    // before the first heartbeat, because that heartbeat releases all leases of the name.
    const claim = Effect.suspend(() => (membership.hasBegun ? this.#claimNow() : Effect.void)).pipe(
      // An interrupted claim would leave deliveries leased to this worker that it does not hold.
      Effect.uninterruptible,
      this.#leasing.withPermits(1),
      Effect.tapDefect(() => Effect.sync(() => this.#worker.noteLostAnswer()))
    )
    return retryUntilAvailable(claim, (error) => {
      if (error.outcome === "unknown") this.#worker.noteLostAnswer()
      return storeFailures.report("claim", () => this.#worker.now())(error)
    })
  }

  #claimNow(): Effect.Effect<void, StoreError> {
    const { breaker, storeFailures } = this.#worker
    const claims =
      breaker.pausedUntil(this.#worker.now()) === null
        ? Effect.andThen(this.#claimDue(), this.#claimEarly())
        : this.#checkStore()
    return Effect.map(claims, () => storeFailures.clear("claim"))
  }

  #claimDue(): Effect.Effect<void, StoreError> {
    const { changes, membership, queue, timer } = this.#worker
    return Effect.suspend(() => {
      const at = this.#worker.now()
      timer.begin(at)
      const since = changes.latest
      const { worker } = membership
      const demand = queue.demand(claimBatch)
      const { limit, limitPerIntegration, limits, urgent } = demand
      const request = { worker, now: at, limit, limits, limitPerIntegration, urgent }
      return Effect.map(this.#store.claim(request), (claimed) => {
        const deliveries = this.#claimedAs(worker, claimed.deliveries)
        this.#worker.claimedAt = at
        this.#queueClaimed(deliveries, since)
        timer.end({ isCutShort: queue.claimed(demand, deliveries), nextDue: claimed.next_due })
      })
    })
  }

  /** Claims the next round of early retries of each integration that catches up after an outage of its receiver. */
  #claimEarly(): Effect.Effect<void, StoreError> {
    const { changes, health, membership, queue } = this.#worker
    return Effect.gen({ self: this }, function* () {
      const at = this.#worker.now()
      for (const { id, window } of health.earlyRounds(at)) {
        const limit = queue.claimLimit(window)
        if (limit === 0 || !membership.hasBegun) return
        const since = changes.latest
        const limits = { limit, limitPerIntegration: limit, limits: new Map([[id, limit]]) }
        const { worker } = membership
        const claimed = yield* this.#store.claim({ worker, now: at, ...limits, earlyOf: id })
        const deliveries = this.#claimedAs(worker, claimed.deliveries)
        if (worker === membership.worker) health.claimedEarly(id, deliveries)
        this.#queueClaimed(deliveries, since)
      }
    })
  }

  /** Checks that the store answers, without a claim, while the circuit breaker is open. */
  #checkStore(): Effect.Effect<void, StoreError> {
    const { worker } = this.#worker.membership
    const now = this.#worker.now()
    return Effect.map(
      this.#store.claim({ worker, now, limit: 0, limits: new Map(), limitPerIntegration: 0 }),
      () => void (this.#worker.claimedAt = this.#worker.now())
    )
  }

  /**
   * Returns the claimed deliveries, or none if the worker's name has changed in the meantime. The next heartbeat then
   * releases the claimed deliveries.
   */
  #claimedAs(worker: string, deliveries: ReadonlyArray<LeasedDelivery>): ReadonlyArray<LeasedDelivery> {
    if (worker === this.#worker.membership.worker) return deliveries
    this.#worker.beatNow.openUnsafe()
    return []
  }

  /**
   * Queues or releases claimed deliveries. Releases a delivery if its integration has changed since the claim began, or
   * if it is an early retry that may no longer be sent early.
   */
  #queueClaimed(claimed: ReadonlyArray<LeasedDelivery>, since: number): void {
    const { changes, health, queue, warnings } = this.#worker
    for (const delivery of claimed) {
      const { id } = delivery.integration
      if (delivery.attempts === 0) warnings.note(delivery.event)
      const isVoid =
        changes.isVoid(id, since) ||
        changes.hasEnded(delivery, since) ||
        (isEarly(delivery) && !health.mayBeEarly(id, this.#worker.now()))
      if (!this.#worker.isActive || isVoid) this.#worker.release([delivery])
      else queue.add(delivery)
    }
    this.#sender.pump()
  }
}
