/**
 * Sends deliveries: the main loop of the engine.
 *
 * - *Publications* arrive through a `Handover`. Deliveries that fit in the queue are stored as leased to this worker
 *   and stay in memory. The others wait in the store.
 * - The *claim loop* leases due deliveries from the store when there is room (`ClaimTimer`), and early retries of
 *   integrations that catch up after an outage (`IntegrationHealth`).
 * - The *sender* takes from the fair queue (`FairQueue`) and attempts each delivery (`Sender`).
 * - The *record loop* stores outcomes and releases in batches (`RecordQueue`), at the same time as publications.
 *   `model/RetryPolicy` decides when a failed attempt is retried, `delivery/HealthRules` when an integration is
 *   disabled.
 * - *Heartbeats* renew the worker's membership (`Membership`). Without a valid membership, no attempt starts.
 *
 * When the store is slow or unavailable, sending stops before too many outcomes are unrecorded. Outcomes that another
 * process's transaction holds are set aside, and don't delay the others. If a process dies, another worker sends its
 * unrecorded deliveries again: at-least-once delivery.
 *
 * `layer` sends deliveries; `layerNone` is for a process that only accepts events.
 */
import type { Scope } from "effect"
import { Cause, Context, Effect, Exit, Fiber, Latch, Layer, Metric, Queue, Semaphore } from "effect"
import type { Lane, LeasedDelivery } from "../model/Delivery.ts"
import { isEarly } from "../model/Delivery.ts"
import * as DurationText from "../model/DurationText.ts"
import type { DeliveryId, IntegrationId } from "../model/Ids.ts"
import type { Integration } from "../model/Integration.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { Heartbeat, Membership as Answer, Settled } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { Directory } from "../ports/Directory.ts"
import { storeClock, storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { Transport } from "../ports/Transport.ts"
import { WakeSignal } from "../ports/WakeSignal.ts"
import { makeCounter, staleSettlements } from "./DeliveryMetrics.ts"
import { DeliverySettings, longestAttempt, settleBudget } from "./DeliverySettings.ts"
import { Agreement, OwnSettings } from "./Agreement.ts"
import { warnOfFailures } from "./FailureWarnings.ts"
import { runForever, logDefect } from "./Loops.ts"
import { Notifications } from "./Notifications.ts"
import { Changes } from "./Changes.ts"
import type { BreakerCause } from "./CircuitBreaker.ts"
import { CircuitBreaker, endText } from "./CircuitBreaker.ts"
import { ClaimTimer } from "./ClaimTimer.ts"
import type { DispatcherStatus } from "./DispatcherStatus.ts"
import { idleStatus } from "./DispatcherStatus.ts"
import { FairQueue } from "./FairQueue.ts"
import { IntegrationHealth, lastAttempts } from "./IntegrationHealth.ts"
import { Membership } from "./Membership.ts"
import type { Batch, Outcome } from "./RecordQueue.ts"
import { RecordQueue } from "./RecordQueue.ts"
import type { Sender } from "./Sender.ts"
import { makeSender } from "./Sender.ts"
import { StoreFailures, retryUntilAvailable } from "./StoreFailures.ts"

/** A publication that is being stored. The caller must call either `stored` or `failed`, once. */
export interface Handover {
  /** Name of the worker to which kept deliveries are leased. */
  readonly worker: string
  /**
   * Reserves room in memory for a delivery; false if it must wait in the store. `size` is the length of the event's
   * data, in characters.
   */
  readonly keep: (integration: Integration, lane: Lane, size: number) => boolean
  /**
   * Reports that the publication is stored. `leased` are the deliveries leased to the worker. `hasDue` is true if any
   * other delivery of the publication is due.
   */
  readonly stored: (leased: ReadonlyArray<LeasedDelivery>, hasDue: boolean) => void
  /**
   * Reports that the publication is not stored, or that its outcome is unknown. `error` is the store's error, if the
   * store failed.
   */
  readonly failed: (outcome: "not_stored" | "unknown", error: StoreError | null) => void
}

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    /** Call it before a publication is stored. It also starts recording the outcomes collected so far. */
    readonly handOver: () => Handover
    /**
     * Releases the queued deliveries of an integration that was changed or deleted. The deliveries that are still due
     * are claimed again.
     */
    readonly forget: (integration: IntegrationId) => Effect.Effect<void>
    readonly status: Effect.Effect<DispatcherStatus>
  }
>()("@doorhook/core/delivery/Dispatcher") {
  static readonly layer: Layer.Layer<
    Dispatcher,
    never,
    DeliveryStore | DeliverySettings | Directory | Transport | WakeSignal | Crypto | Notifications
  > = Layer.effect(
    Dispatcher,
    Effect.suspend(() => makeDispatcher)
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
        forget: () => Effect.void,
        status: Effect.sync(() => ({ ...idleStatus, delivers: false, ...failures.status(now()) }))
      }
    })
  )
}

/** Maximum number of deliveries per claim. A larger claim would delay urgent deliveries. */
const claimBatch = 150

/** How long outcomes are collected before they are recorded together, in milliseconds. */
const recordDelay = 25

/** Maximum number of unrecorded outcomes, as a multiple of `concurrency`. */
const maxUnsettled = 16

/** Maximum number of outcomes of an integration that are set aside, as a multiple of its concurrency. */
const maxPostponed = 4

/** How long an integration with more such outcomes gets no requests, in milliseconds. */
const postponedPause = 500

/**
 * Time between two heartbeats while the settings differ, in milliseconds. Short, because when the other processes end,
 * nobody sends until the next heartbeat.
 */
const disagreeingInterval = 1_000

/** Maximum number of failing integrations that the status lists. */
const worstShown = 20

/** Maximum number of early retries per claim, for each request that may be open to the integration. */
const earlyPerPlace = 4

const makeWorkerName = Effect.gen(function* () {
  const bytes = (yield* Crypto).randomBytes(8)
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
})

/** Sends deliveries until the scope closes. Then finishes open attempts and releases all other deliveries. */
const makeDispatcher: Effect.Effect<
  Dispatcher["Service"],
  never,
  Scope.Scope | DeliveryStore | DeliverySettings | Directory | Transport | WakeSignal | Crypto | Notifications
> = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const settings = yield* DeliverySettings
  const notifications = yield* Notifications
  const wake = yield* WakeSignal
  const clock = yield* storeClock
  const counter = yield* makeCounter
  const newWorkerName = Effect.provideService(makeWorkerName, Crypto, yield* Crypto)
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const { now } = clock

  const queue = new FairQueue(settings)
  const records = new RecordQueue()
  const breaker = new CircuitBreaker()
  const changes = new Changes()
  const health = new IntegrationHealth()
  const storeFailures = new StoreFailures()
  const timer = new ClaimTimer({
    pollInterval: settings.pollInterval,
    minBatch: Math.min(claimBatch, Math.floor(settings.buffer / 8))
  })
  const own = yield* OwnSettings
  const agreement = new Agreement(own)
  let isStopping = false

  // Membership.

  const membership = new Membership(yield* newWorkerName, settings)
  const beatNow = yield* Queue.sliding<void>(1)

  /**
   * Whether an attempt started now can end and be recorded before the membership expires. If that can't be known,
   * because this machine may have been suspended, the store's clock is measured at once.
   */
  const mayStart = (at: number): boolean => {
    if (clock.isCertain()) return membership.mayStart(at)
    if (!storeFailures.has("heartbeat")) Queue.offerUnsafe(beatNow, undefined)
    return false
  }

  const noteLostAnswer = (): void => {
    membership.noteLostAnswer(now())
    Queue.offerUnsafe(beatNow, undefined)
  }

  /** Drops the queued deliveries, whose leases were lost, and continues under a new worker name. */
  const beginAgain = Effect.gen(function* () {
    for (const delivery of queue.removeIf(() => true).filter(isEarly)) health.gaveBackEarly(delivery, now())
    changes.noteAll()
    membership.beginAgain(yield* newWorkerName)
  })

  const heldIds = (): ReadonlyArray<DeliveryId> => [
    ...queue.waiting().map(({ id }) => id),
    ...Array.from(sender.flights(), ({ id }) => id),
    ...records.ids()
  ]

  const renewMembership: Effect.Effect<void, StoreError> = Effect.gen(function* () {
    yield* clock.measure
    const at = now()
    const spares = clock.hasJumped(settings.lease)
    if (membership.hasLapsed(at) && !spares) yield* beginAgain
    const heartbeat = {
      ...membership.heartbeat(at, heldIds, spares),
      ...(own !== null && { settings: own.settings })
    }
    const answer = yield* store.heartbeat(heartbeat)
    storeFailures.clear("heartbeat")
    yield* agreement.note(answer.disagreement)
    if (!agreement.isAgreed) return yield* stepBack(heartbeat, answer)
    if (!membership.renew(heartbeat, answer)) {
      yield* beginAgain
      // The heartbeat has begun a new membership under the old name. That membership would take a share of all places,
      // so it is ended here.
      yield* store.heartbeat({ worker: heartbeat.worker, now: at, until: null, spares: true })
      return yield* renewMembership
    }
    release(queue.shareWith(answer))
    if (isFirst && answer.workers > 1) yield* logOthers(answer.workers - 1)
    isFirst = false
  })

  /** Stops sending because the settings differ. Leaves once all attempts are recorded. */
  const stepBack = Effect.fnUntraced(function* (beat: Heartbeat, answer: Answer) {
    if (!membership.hasBegun) return
    release(queue.removeIf(() => true))
    if (membership.renew(beat, answer) && (queue.open > 0 || !records.isEmpty)) return
    yield* store.heartbeat({ worker: beat.worker, now: now(), until: null, spares: true })
    yield* beginAgain
  })

  let isFirst = true
  /** The membership of a killed worker lasts until its lease ends, so the store may still count that worker. */
  const logOthers = (others: number) =>
    Effect.logInfo(
      `The database lists ${others} other ${others === 1 ? "worker" : "workers"}. If a worker crashed, its deliveries are sent again within ${DurationText.format(settings.lease + membership.interval)}.`
    )

  const heartbeat = Effect.gen(function* () {
    // On an idle service the heartbeat is the only write, so it detects a full disk before an event arrives.
    yield* Effect.catchTag(renewMembership, "StoreError", storeFailures.report("heartbeat", now))
    sender.pump()
    // The heartbeat may have released deliveries of a dead worker, without a wake signal.
    signal()
  })

  /** Prevents claims while a heartbeat lists the held deliveries. */
  const leasing = Semaphore.makeUnsafe(1)
  const beating = Effect.andThen(
    Effect.suspend(() =>
      Effect.timeoutOption(Queue.take(beatNow), agreement.isAgreed ? membership.interval : disagreeingInterval)
    ),
    Effect.suspend(() => (membership.isInDoubt ? leasing.withPermits(1)(heartbeat) : heartbeat))
  )

  // Recording: outcomes and releases, in batches.

  /** Opened to start recording the collected batches. */
  const recordNow = yield* Latch.make(false)
  const recordedAll = yield* Latch.make(true)
  let isRecordTimed = false

  const recordAfterDelay = Effect.andThen(
    Effect.sleep(recordDelay),
    Effect.sync(() => {
      isRecordTimed = false
      records.resume(now())
      if (records.waiting > 0) recordNow.openUnsafe()
      else if (records.hasAside) recordSoon()
    })
  )

  /**
   * Starts the timer for recording the collected results. While a batch is being recorded, the timer starts when that
   * recording ends.
   */
  const recordSoon = (): void => {
    if (isRecordTimed || records.isUnderWay) return
    isRecordTimed = true
    run(recordAfterDelay)
  }

  const record = (outcome: Outcome): void => {
    const { delivery, countsForHealth, settlement } = outcome
    const { attempt, retry_after } = settlement
    const { id } = delivery.integration
    if (countsForHealth && attempt !== null) health.attempted(id, attempt)
    if (retry_after !== null) health.askedToWait(id, retry_after)
    const isAcknowledged = attempt?.outcome === "acknowledged"
    if (isEarly(delivery)) {
      if (!isAcknowledged) health.stopEarly(id)
      else if (health.acknowledgedEarly(delivery, earlyPerPlace * queue.placesTo(id))) reschedule()
    }
    if (retry_after !== null || (isEarly(delivery) && !isAcknowledged)) release(queue.removeOf(id, isEarly))
    counter.attempted(outcome)
    const isFull = records.record(outcome, now())
    recordedAll.closeUnsafe()
    if (isFull || isStopping) recordNow.openUnsafe()
    else recordSoon()
  }

  /**
   * Releases deliveries and makes them due at the given time. Early retries keep their scheduled time if that is later.
   */
  const release = (
    deliveries: ReadonlyArray<LeasedDelivery>,
    dueAt: (delivery: LeasedDelivery) => number = now
  ): void => {
    if (deliveries.length === 0) return
    for (const delivery of deliveries) {
      if (isEarly(delivery)) health.gaveBackEarly(delivery, now())
      const due_at = Math.max(delivery.early_due_at ?? 0, dueAt(delivery))
      records.release(membership.worker, { delivery_id: delivery.id, due_at })
    }
    recordedAll.closeUnsafe()
    recordNow.openUnsafe()
  }

  /** Records a batch. Returns the pause before the next one, in milliseconds. */
  const storeBatch = (batch: Batch): Effect.Effect<number> => {
    const { outcomes, releases, worker } = batch
    const at = now()
    const settlements = outcomes.map(({ settlement }) => settlement)
    return Effect.matchEffect(store.settle({ worker, settlements, releases }, at, settings.disableAfter), {
      onFailure: (error) => Effect.map(refused(batch, error, at), () => records.refused(now())),
      onSuccess: (answer) => {
        postpone(answer.postponed, at)
        if (answer.hasDueDeliveries) timer.noteDue(at)
        for (const { settlement } of batch.outcomes)
          if (settlement.next_attempt_at !== null) timer.noteDue(settlement.next_attempt_at)
        for (const { due_at } of batch.releases) timer.noteDue(due_at)
        return Effect.as(batch.outcomes.length > 0 ? follow(batch.outcomes, answer, at) : Effect.void, 0)
      }
    })
  }

  /** Handles a batch that the store did not record, or whose answer was lost. */
  const refused = (batch: Batch, error: StoreError, at: number): Effect.Effect<void> => {
    if (error.outcome === "unknown") {
      batch.isInDoubt = true
      // A released delivery may already be leased to this worker again, so it must not be released twice.
      batch.releases = []
      // The call whose answer was lost may have disabled integrations, and a repeated call does not report them again.
      forgetAtOnce(new Set(batch.outcomes.map(({ settlement }) => settlement.integration_id)))
      timer.noteDue(at)
    }
    return storeFailures.report("settle", now)(error)
  }

  /**
   * Sets results aside that another transaction in the store holds, until it ends. An integration with many such
   * outcomes gets no more requests for now, so that others can continue.
   */
  const postpone = (held: ReadonlySet<DeliveryId>, at: number): void => {
    if (held.size === 0) return
    records.postpone(held, at)
    for (const id of records.crowded(maxPostponed * settings.concurrencyPerIntegration))
      queue.pause(id, at, postponedPause)
  }

  /**
   * Cleans up after a batch. After a defect, the batch's deliveries stay leased until a heartbeat no longer lists them.
   */
  const afterBatch = (batch: Batch, hasDefect: boolean): void => {
    if (records.isUnderWay) {
      records.over(now())
      // Called only after `over`: until then, the deliveries of the batch count as held.
      if (hasDefect || batch.isInDoubt) noteLostAnswer()
      // The failure is cleared after a defect too: if no results are left to record, no later batch would clear it.
      storeFailures.clear("settle")
    }
    if (records.isEmpty) recordedAll.openUnsafe()
    else recordSoon()
    sender.pump()
    reschedule()
  }

  const recordBatch = Effect.suspend(() => {
    const batch = records.take()
    if (batch === undefined) return Effect.void
    const recorded = Effect.onExit(storeBatch(batch), (exit) => {
      afterBatch(batch, Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      return Effect.void
    })
    return Effect.flatMap(recorded, (pause) => (pause > 0 ? Effect.sleep(pause) : Effect.void))
  })

  /**
   * Applies recorded outcomes to the state of this process. If the store's answer was lost and the outcomes are recorded
   * again, the store returns no recoveries, so retries are sent at their scheduled times. Assuming a recovery would be
   * wrong: another process may have received a `Retry-After` that early retries would violate.
   */
  const follow = (outcomes: ReadonlyArray<Outcome>, answer: Settled, at: number): Effect.Effect<void> =>
    answer.notifications.length === 0
      ? followQuietly(outcomes, answer, at)
      : Effect.flatMap(notifications.notify(answer.notifications, lastAttempts(outcomes)), () =>
          followQuietly(outcomes, answer, at)
        )

  /** Applies everything except notifications. */
  const followQuietly = (outcomes: ReadonlyArray<Outcome>, answer: Settled, at: number): Effect.Effect<void> => {
    if (answer.changed.length > 0) forgetAtOnce(answer.changed)
    if (settings.catchUp) for (const recovery of answer.recovered) health.recovered(recovery, at)
    const isCurrent = answer.applied.size === outcomes.length
    const applied = isCurrent ? outcomes : outcomes.filter(({ delivery }) => answer.applied.has(delivery.id))
    counter.ended(applied)
    const telling = applied.filter(({ countsForHealth }) => countsForHealth)
    const lines = health.recorded(telling, answer.notifications, at)
    if (isCurrent && lines.length === 0) return Effect.void
    return Effect.andThen(
      Metric.update(staleSettlements, outcomes.length - applied.length),
      Effect.forEach(lines, ({ level, text }) => (level === "warn" ? Effect.logWarning(text) : Effect.logInfo(text)), {
        discard: true
      })
    )
  }

  /** Records `count` batches, one after the other. */
  const recordBatches = (count: number): Effect.Effect<void> =>
    count <= 1 ? recordBatch : Effect.flatMap(recordBatch, () => recordBatches(count - 1))

  const recording = Effect.flatMap(recordNow.await, () => {
    recordNow.closeUnsafe()
    return recordBatches(records.waiting)
  })

  // Changes. Held deliveries of a changed integration are released.

  const forgetAtOnce = (ids: Iterable<IntegrationId>): void => {
    changes.note(ids, now(), settings.lease)
    for (const id of ids) {
      health.forget(id)
      release(queue.removeOf(id))
    }
  }

  const forgetAll = (): void => {
    changes.noteAll()
    release(queue.removeIf(() => true))
  }

  // Sending.

  /** Whether further outcomes may wait to be recorded. Allows fewer while the store refuses outcomes. */
  const mayOwe = (): boolean =>
    records.unsettled < (storeFailures.has("settle") ? 1 : maxUnsettled) * settings.concurrency

  const sender: Sender = yield* makeSender({
    queue,
    breaker,
    changes,
    health,
    membership,
    mayStart,
    maySend: (at) => !isStopping && agreement.isAgreed && mayOwe() && mayStart(at),
    release,
    record,
    tried: () => reschedule(),
    closed: (cause, lasted) => {
      sender.pump()
      signal()
      run(logClosed(cause, lasted))
    }
  })

  /** Logs the end of an outage and the size of the backlog. */
  const logClosed = Effect.fnUntraced(function* (cause: BreakerCause, lasted: number) {
    const after = endText(cause, lasted)
    yield* store.summary(now()).pipe(
      Effect.flatMap(({ states }) => Effect.logInfo(`${after}. ${states.pending + states.retrying} deliveries wait.`)),
      Effect.catchTag("StoreError", (error) =>
        Effect.logInfo(`${after}. The number of waiting deliveries is unknown: ${error.message}`)
      )
    )
  })

  // Claiming.

  let polledAt: number | null = null
  /** Time of the next scheduled poll. */
  let nextPoll = Number.POSITIVE_INFINITY
  const wakeups = yield* Queue.sliding<void>(1)

  /**
   * Returns the time of the next claim. Claims are postponed while results can't be recorded or attempts can't start.
   */
  const nextTime = (at: number): number => {
    if (isStopping || !agreement.isAgreed || !mayOwe()) return at + settings.pollInterval
    if (!mayStart(at)) {
      // The membership lapsed between two heartbeats: the clock advanced without the timers, as on a suspended machine.
      if (!storeFailures.has("heartbeat")) Queue.offerUnsafe(beatNow, undefined)
      return at + settings.pollInterval
    }
    // The clock was set back, so the next claim is due now.
    if (polledAt !== null && polledAt > at) return at
    const paused = breaker.pausedUntil(at)
    if (paused !== null) return Math.min(paused, (polledAt ?? at) + settings.pollInterval)
    // While the breaker is open, trials use held deliveries before more are claimed.
    if (breaker.isOpen && queue.queued > 0) return (polledAt ?? at) + settings.pollInterval
    const early = queue.room > 0 ? health.nextEarly() : null
    return Math.min(timer.next(queue), early ?? Number.POSITIVE_INFINITY)
  }

  const reschedule = (): void => {
    if (nextTime(now()) < nextPoll) Queue.offerUnsafe(wakeups, undefined)
  }

  const signal = (): void => {
    timer.signal()
    reschedule()
  }

  /**
   * Queues or releases claimed deliveries. Releases a delivery if its integration has changed since the claim began, or
   * if it is an early retry that may no longer be sent early.
   */
  const enqueueClaimed = (claimed: ReadonlyArray<LeasedDelivery>, since: number): void => {
    for (const delivery of claimed) {
      const { id } = delivery.integration
      const isVoid = changes.isVoid(id, since) || (isEarly(delivery) && !health.mayBeEarly(id, now()))
      if (isStopping || !agreement.isAgreed || isVoid) release([delivery])
      else queue.add(delivery)
    }
    sender.pump()
  }

  /**
   * Returns the claimed deliveries, or none if the worker's name has changed in the meantime. The next heartbeat then
   * releases the claimed deliveries.
   */
  const claimedAs = (worker: string, deliveries: ReadonlyArray<LeasedDelivery>): ReadonlyArray<LeasedDelivery> => {
    if (worker === membership.worker) return deliveries
    Queue.offerUnsafe(beatNow, undefined)
    return []
  }

  const claimDue = Effect.gen(function* () {
    const at = now()
    timer.begin(at)
    const since = changes.latest
    const { worker } = membership
    const demand = queue.demand(claimBatch)
    const { limit, limitPerIntegration, limits, urgent } = demand
    const claimed = yield* store.claim({ worker, now: at, limit, limits, limitPerIntegration, urgent })
    const deliveries = claimedAs(worker, claimed.deliveries)
    polledAt = at
    enqueueClaimed(deliveries, since)
    timer.end({ isCutShort: queue.claimed(demand, deliveries), nextDue: claimed.next_due })
  })

  /** Claims the next round of early retries of each integration that catches up after an outage of its receiver. */
  const claimEarly = Effect.gen(function* () {
    const at = now()
    for (const { id, window } of health.earlyRounds(at)) {
      const limit = queue.claimLimit(window)
      if (limit === 0 || !membership.hasBegun) return
      const since = changes.latest
      const limits = { limit, limitPerIntegration: limit, limits: new Map([[id, limit]]) }
      const { worker } = membership
      const claimed = yield* store.claim({ worker, now: at, ...limits, early: id })
      const deliveries = claimedAs(worker, claimed.deliveries)
      if (worker === membership.worker) health.claimedEarly(id, deliveries)
      enqueueClaimed(deliveries, since)
    }
  })

  /** Checks that the store answers, without a claim, while the circuit breaker is open. */
  const checkStore = Effect.gen(function* () {
    const { worker } = membership
    yield* store.claim({ worker, now: now(), limit: 0, limits: new Map(), limitPerIntegration: 0 })
    polledAt = now()
  })

  const claimNow = Effect.suspend(() =>
    breaker.pausedUntil(now()) === null ? Effect.andThen(claimDue, claimEarly) : checkStore
  ).pipe(Effect.tap(() => Effect.sync(() => storeFailures.clear("claim"))))

  // The worker's name may have changed during a store failure or a heartbeat. Under a new name, nothing may be leased
  // before the first heartbeat, because that heartbeat releases all leases of the name.
  const claim = Effect.suspend(() => (membership.hasBegun ? claimNow : Effect.void)).pipe(
    // An interrupted claim would leave deliveries leased to this worker that it does not hold.
    Effect.uninterruptible,
    leasing.withPermits(1),
    Effect.tapDefect(() => Effect.sync(noteLostAnswer)),
    (claiming) =>
      retryUntilAvailable(claiming, (error) => {
        if (error.outcome === "unknown") noteLostAnswer()
        return storeFailures.report("claim", now)(error)
      })
  )

  const claiming = Effect.gen(function* () {
    if (!membership.hasBegun) {
      nextPoll = Number.POSITIVE_INFINITY
      return yield* Queue.take(wakeups)
    }
    const at = now()
    nextPoll = nextTime(at)
    if (nextPoll > at) return yield* Effect.timeoutOption(Queue.take(wakeups), nextPoll - at)
    yield* claim
    // Lets the claimed deliveries start before the next claim.
    yield* Effect.yieldNow
  })

  // Publications.

  const handOver = (): Handover => {
    const publication = { began: now() }
    membership.publications.add(publication)
    const since = changes.latest
    const { worker } = membership
    const kept: Array<{ readonly id: IntegrationId; readonly size: number }> = []
    if (records.waiting > 0) recordNow.openUnsafe()
    const giveUp = (): void => {
      membership.publications.delete(publication)
      for (const { id, size } of kept) queue.unreserve(id, size)
      kept.length = 0
    }
    return {
      worker,
      keep: (integration, lane, size) => {
        const isKept =
          !isStopping &&
          agreement.isAgreed &&
          mayStart(publication.began) &&
          breaker.mayHold(integration.created_by.user_id) &&
          queue.reserve(integration.id, lane, size)
        if (isKept) kept.push({ id: integration.id, size })
        return isKept
      },
      stored: (leased, hasDue) => {
        storeFailures.published(null, now())
        // If the worker's name has changed, the next heartbeat releases the deliveries.
        if (worker !== membership.worker) Queue.offerUnsafe(beatNow, undefined)
        else
          for (const delivery of leased) {
            if (isStopping || !agreement.isAgreed || changes.isVoid(delivery.integration.id, since)) release([delivery])
            else queue.add(delivery)
          }
        // Reservations end only after queueing, because the queue forgets an integration that holds no deliveries.
        giveUp()
        if (hasDue) timer.signal()
        sender.pumpUrgent()
        if (hasDue) reschedule()
      },
      failed: (outcome, error) => {
        giveUp()
        if (error !== null) storeFailures.published(error, now())
        if (outcome === "unknown") noteLostAnswer()
      }
    }
  }

  // Lifecycle.

  yield* Effect.forkScoped(runForever("Recording attempts", recording))
  const loops = yield* Effect.forkScoped(
    Effect.andThen(
      Effect.catchDefect(heartbeat, (defect) => logDefect("The heartbeat failed; it continues", defect)),
      Effect.all(
        [
          runForever("Claiming deliveries", claiming),
          runForever("Listening for wake signals", Effect.andThen(wake.wait, Effect.sync(signal))),
          runForever("The heartbeat", beating),
          warnOfFailures
        ],
        { concurrency: "unbounded", discard: true }
      )
    )
  )
  // Runs until open attempts have ended. An attempt may still be waiting for the directory when its integration is
  // deleted, and must not be sent then.
  yield* Effect.forkScoped(
    runForever(
      "Listening for changes",
      Effect.map(wake.changes, (ids) => {
        if (ids === null) forgetAll()
        else forgetAtOnce(ids)
        signal()
      })
    )
  )

  // Runs before the loops above are interrupted: releases queued deliveries, finishes open attempts and records them.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      isStopping = true
      release(queue.removeIf(() => true))
      // The membership lasts at least this long, even without another heartbeat.
      yield* sender.drain(longestAttempt(settings) + settleBudget)
      yield* Fiber.interrupt(loops)
      release(queue.removeIf(() => true))
      recordNow.openUnsafe()
      yield* Effect.timeoutOption(recordedAll.await, settleBudget)
      yield* store
        .heartbeat({ worker: membership.worker, now: now(), until: null, spares: true })
        .pipe(Effect.catchTag("StoreError", (error) => Effect.logDebug(error.message)))
    })
  )

  return Dispatcher.of({
    handOver,
    // Synchronous, because removed deliveries must be released even if the caller is interrupted.
    forget: (integration) =>
      Effect.sync(() => {
        forgetAtOnce([integration])
        signal()
      }),
    status: Effect.sync(() => ({
      delivering: queue.open,
      buffered: queue.queued,
      unsettled: records.unsettled,
      unsettled_since: records.unsettledSince,
      last_claim_at: polledAt,
      ...storeFailures.status(now()),
      delivers: true,
      is_member: membership.hasBegun && agreement.isAgreed,
      settings_differ: agreement.problem,
      outage: breaker.longest,
      failing: health.failing,
      worst: health.worst(worstShown),
      catching_up: health.catchingUp
    }))
  })
})
