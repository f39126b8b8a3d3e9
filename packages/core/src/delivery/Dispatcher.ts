/**
 * Sends deliveries: the spine of the engine.
 *
 * - *Publications* arrive through a `Handover`: what the queue has room for is stored as leased to this worker and stays in
 *   memory. The rest waits in the store.
 * - The *claim loop* leases due deliveries from the store when there is room (`ClaimTimer`), and early retries of
 *   integrations that catch up after an outage (`IntegrationHealth`).
 * - The *sender* takes from the fair queue (`FairQueue`) and attempts each delivery (`Sender`).
 * - The *record loop* stores outcomes and releases, as many in one transaction as have come in, together with publications
 *   that are stored at the same moment.
 * - *Heartbeats* keep the worker a member. A member that can't be sure of its membership starts no attempts.
 *
 * When the store is slow or away, sending stops before more is sent than can be recorded. What a process that dies has not
 * recorded is sent again by another worker: at least once.
 *
 * `layer` sends; `layerNone` is for a process that only takes events in.
 */
import type { Scope } from "effect"
import { Clock, Context, Duration, Effect, Fiber, Latch, Layer, Metric, Queue, Semaphore } from "effect"
import type { Lane, LeasedDelivery } from "../domain/Delivery.ts"
import type { DeliveryId, IntegrationId } from "../domain/Ids.ts"
import type { Integration } from "../domain/Integration.ts"
import type { Seen } from "../domain/Notice.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { Settled } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { Directory } from "../ports/Directory.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { Transport } from "../ports/Transport.ts"
import { Wake } from "../ports/Wake.ts"
import { shownHost } from "../rules/UrlPolicy.ts"
import { makeCounter, staleSettlements } from "../services/DeliveryMetrics.ts"
import { DeliverySettings, longestAttempt, settleBudget } from "../services/DeliverySettings.ts"
import { lasting, tellDefect } from "../services/Lasting.ts"
import { Notices } from "../services/Notices.ts"
import type { BreakerCause, Outage } from "./CircuitBreaker.ts"
import { CircuitBreaker } from "./CircuitBreaker.ts"
import { ClaimTimer } from "./ClaimTimer.ts"
import { FairQueue } from "./FairQueue.ts"
import type { CatchingUp, FailureStreak } from "./IntegrationHealth.ts"
import { IntegrationHealth, loggedText } from "./IntegrationHealth.ts"
import type { Outcome, Sender } from "./Sender.ts"
import { makeSender } from "./Sender.ts"
import { StoreRefusals, untilAnswered } from "./StoreRefusals.ts"

export type { BreakerCause, Outage } from "./CircuitBreaker.ts"
export { breakerCauses } from "./CircuitBreaker.ts"
export type { CatchingUp } from "./IntegrationHealth.ts"

/** What a dispatcher is doing. */
export interface DispatcherStatus {
  /** Requests open now. */
  readonly delivering: number
  /** Deliveries under lease that wait for a place. */
  readonly buffered: number
  /** Attempts that are over and not recorded in the store yet. */
  readonly unsettled: number
  /**
   * Since when such attempts wait and none has been recorded, in milliseconds since the epoch; null while there are none. It
   * moves with each that is.
   */
  readonly unsettled_since: number | null
  /** When it last looked for due deliveries with success, in milliseconds since the epoch; null before the first time. */
  readonly last_claim_at: number | null
  /** Since when the store has not let it claim or record outcomes, in milliseconds since the epoch; null while it does. */
  readonly store_failing_since: number | null
  /** What all deliveries wait for: they are due again every few seconds, and one is tried; null while they can be sent. */
  readonly outage: Outage | null
  /** How many integrations failed at the last attempt that this process made. */
  readonly failing: number
  /** Those that failed most often in a row, the worst first: a few. */
  readonly worst: ReadonlyArray<FailureStreak>
  /** Integrations whose waiting retries are sent early, after an outage of their receivers. */
  readonly catching_up: ReadonlyArray<CatchingUp>
}

/** The status of a dispatcher that has done nothing. */
export const idleStatus: DispatcherStatus = {
  delivering: 0,
  buffered: 0,
  unsettled: 0,
  unsettled_since: null,
  last_claim_at: null,
  store_failing_since: null,
  outage: null,
  failing: 0,
  worst: [],
  catching_up: []
}

/** A publication on its way to the store. Either `stored` or `failed` must be called, once. */
export interface Handover {
  /** The worker that what is kept is leased to. */
  readonly worker: string
  /** Keeps room for a delivery in memory; false when it must wait in the store. `size`: characters of its event's data. */
  readonly keep: (integration: Integration, lane: Lane, size: number) => boolean
  /** The publication is stored. `leased`: what of it is leased to the worker. `hasDue`: something else of it is due. */
  readonly stored: (leased: ReadonlyArray<LeasedDelivery>, hasDue: boolean) => void
  /** It is not stored, or nobody knows whether it is. */
  readonly failed: (outcome: "not_stored" | "unknown") => void
}

export class Dispatcher extends Context.Service<
  Dispatcher,
  {
    /** Begins to store a publication. Outcomes that wait are recorded at the same moment. */
    readonly handOver: () => Handover
    /** Gives back what is held of an integration because it was changed or deleted. It is claimed again if it is due. */
    readonly forget: (integration: IntegrationId) => Effect.Effect<void>
    readonly status: Effect.Effect<DispatcherStatus>
  }
>()("@doorhook/core/delivery/Dispatcher") {
  static readonly layer: Layer.Layer<
    Dispatcher,
    never,
    DeliveryStore | DeliverySettings | Directory | Transport | Wake | Crypto | Notices
  > = Layer.effect(
    Dispatcher,
    Effect.suspend(() => makeDispatcher)
  )

  /** Keeps nothing: all deliveries wait in the store for a dispatcher elsewhere. */
  static readonly layerNone: Layer.Layer<Dispatcher> = Layer.succeed(Dispatcher, {
    handOver: () => ({ worker: "", keep: () => false, stored: () => undefined, failed: () => undefined }),
    forget: () => Effect.void,
    status: Effect.succeed(idleStatus)
  })
}

/** The most deliveries claimed at once: more would hold up the calls behind it. */
const claimBatch = 150

/** How long outcomes wait for others to be recorded with, in milliseconds. */
const recordDelay = 25

/** The most outcomes recorded in one transaction: more would hold up the calls behind it. */
const recordBatch = 150

/** The most outcomes that wait to be recorded, as a multiple of the requests open at once. */
const maxUnsettled = 16

/** How often a worker sends a heartbeat at least, in milliseconds. */
const heartbeatInterval = 5_000

/** How many failing integrations the status names. */
const worstShown = 20

/** Warnings are looked for this often while an integration fails until it is disabled. */
const warningLooks = 50
const shortestWarningInterval = 1_000
const longestWarningInterval = 3_600_000

/** The most warnings stored in one transaction. */
const warningBatch = 100

/** How many early retries are claimed at once for each place, once an integration catches up at full speed. */
const earlyPerPlace = 4

const closedText: Readonly<Record<BreakerCause, string>> = {
  directory: "The directory answers again",
  egress: "Outbound connections work again"
}

const makeWorkerName = Effect.gen(function* () {
  const bytes = yield* (yield* Crypto).randomBytes(8)
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
})

/** The last attempt of each integration, for the text of its notifications. */
const seenIn = (batch: ReadonlyArray<Outcome>): ReadonlyMap<IntegrationId, Seen> => {
  const seen = new Map<IntegrationId, Seen>()
  for (const { delivery, settlement } of batch) {
    const { configuration, id } = delivery.integration
    const { attempt } = settlement
    const last = attempt === null || attempt.outcome === "acknowledged" ? "" : loggedText(attempt)
    seen.set(id, { host: shownHost(configuration.url), last })
  }
  return seen
}

/** A delivery that is given back, or handed to nobody. */
interface Released {
  readonly worker: string
  readonly id: DeliveryId
  readonly dueAt: number
}

/** Starts sending, for as long as the scope lives. Closing it finishes what is open and gives back the rest. */
const makeDispatcher: Effect.Effect<
  Dispatcher["Service"],
  never,
  Scope.Scope | DeliveryStore | DeliverySettings | Directory | Transport | Wake | Crypto | Notices
> = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const settings = yield* DeliverySettings
  const notices = yield* Notices
  const wake = yield* Wake
  const clock = yield* Clock.Clock
  const counter = yield* makeCounter
  const newWorkerName = Effect.provideService(makeWorkerName, Crypto, yield* Crypto)
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const now = (): number => clock.currentTimeMillisUnsafe()

  const queue = new FairQueue(settings)
  const breaker = new CircuitBreaker()
  const health = new IntegrationHealth()
  const refusals = new StoreRefusals()
  const timer = new ClaimTimer({
    pollInterval: settings.pollInterval,
    goodRoom: Math.min(claimBatch, Math.floor(settings.buffer / 8))
  })
  let isStopping = false

  // Changes of integrations: what was held, claimed or published before one is void.

  /** Counts changes. */
  let changes = 0
  let allChanged = 0
  const changed = new Map<IntegrationId, { readonly change: number; readonly until: number }>()

  const isVoidSince = (id: IntegrationId, since: number): boolean =>
    allChanged > since || (changed.size > 0 && (changed.get(id)?.change ?? 0) > since)

  const forgetAtOnce = (ids: Iterable<IntegrationId>): void => {
    const at = now()
    changes++
    for (const [id, { until }] of changed) if (until < at) changed.delete(id)
    for (const id of ids) {
      // As long as a claim or a publication may be under way that has seen it unchanged.
      changed.set(id, { change: changes, until: at + settings.lease })
      health.forget(id)
      release(queue.removeOf(id), now)
    }
  }

  const forgetAll = (): void => {
    allChanged = ++changes
    release(
      queue.removeIf(() => true),
      now
    )
  }

  // Membership.

  let worker = yield* newWorkerName
  /** Until when the store surely takes this worker for a member. */
  let memberUntil = Number.NEGATIVE_INFINITY
  /** When an answer was lost last: until then the store may have leased to this worker what it does not hold. */
  let lostAt = Number.NEGATIVE_INFINITY

  /** Whether an attempt that starts now ends, and is recorded, while the membership lasts. */
  const mayStart = (at: number): boolean => memberUntil >= at + settings.ackTimeout + settleBudget

  /** What is held, was attempted, or is given back, and that is not recorded yet. */
  const heldIds = (): ReadonlyArray<DeliveryId> => [
    ...queue.waiting().map(({ id }) => id),
    ...Array.from(sender.flights(), ({ id }) => id),
    ...outcomes.map(({ delivery }) => delivery.id),
    ...recording.map(({ delivery }) => delivery.id),
    ...releases.map(({ id }) => id),
    ...releasing.map(({ id }) => id)
  ]

  /** Held deliveries are not leased to this worker any more: it goes on as another. */
  const beginAgain = Effect.gen(function* () {
    for (const { early_due_at, integration } of queue.removeIf(() => true))
      if (early_due_at !== null) health.stopEarly(integration.id)
    lostAt = Number.NEGATIVE_INFINITY
    allChanged = ++changes
    worker = yield* newWorkerName
    memberUntil = Number.NEGATIVE_INFINITY
  })

  const beat = Effect.gen(function* () {
    const at = now()
    // It has lapsed. Not left to the store: the answer to the heartbeat that says so may be lost.
    if (memberUntil !== Number.NEGATIVE_INFINITY && memberUntil <= at) yield* beginAgain
    const isFirst = memberUntil === Number.NEGATIVE_INFINITY
    const before = Math.min(at, ...Array.from(publications, ({ began }) => began))
    const holds = lostAt === Number.NEGATIVE_INFINITY ? {} : { holds: { ids: heldIds(), before } }
    const until = at + settings.lease
    const membership = yield* store.heartbeat({ worker, now: at, until, ...holds })
    refusals.clear("heartbeat")
    // What was created in the same millisecond is released by the next one.
    if (lostAt < before) lostAt = Number.NEGATIVE_INFINITY
    if (!isFirst && !membership.continued) {
      const former = worker
      yield* beginAgain
      // The heartbeat has made a member of the former name, and the places of integrations are shared among members.
      yield* store.heartbeat({ worker: former, now: at, until: null })
      return yield* store.heartbeat({ worker, now: at, until }).pipe(
        Effect.map((joined) => {
          memberUntil = until
          release(queue.shareWith(joined), now)
        })
      )
    }
    memberUntil = until
    release(queue.shareWith(membership), now)
  }).pipe(
    // With nothing to send this is the only write: it shows a full disk before an event comes.
    Effect.catchTag("StoreError", refusals.note("heartbeat")),
    Effect.andThen(
      Effect.sync(() => {
        sender.pump()
        // What a worker that died had taken in is due, and nobody else says so.
        timer.signal()
        reconsider()
      })
    )
  )

  /** As often as it takes to be sure of the membership for the attempts that follow. */
  const beatEvery = Math.min(heartbeatInterval, Math.max(1, (settings.lease - settings.ackTimeout - settleBudget) / 2))
  /** Claims, and heartbeats that say what is held, take turns. */
  const leasing = Semaphore.makeUnsafe(1)
  const beatHurry = yield* Queue.sliding<void>(1)
  const beating = lasting(
    "The heartbeat",
    Effect.andThen(
      Effect.timeoutOption(Queue.take(beatHurry), beatEvery),
      Effect.suspend(() => (lostAt === Number.NEGATIVE_INFINITY ? beat : leasing.withPermits(1)(beat)))
    )
  )

  /** The store may have leased something without saying so. */
  const noteLostAnswer = (): void => {
    lostAt = now()
    Queue.offerUnsafe(beatHurry, undefined)
  }

  // Recording: outcomes and releases, in batches.

  const outcomes: Array<Outcome> = []
  /** Outcomes on their way to the store. */
  let recording: ReadonlyArray<Outcome> = []
  const releases: Array<Released> = []
  /** Releases on their way to the store. */
  let releasing: ReadonlyArray<Released> = []
  /** Whether the store may have recorded them without saying so. */
  let isInDoubt = false
  const waiting = yield* Latch.make(false)
  const recordNow = yield* Latch.make(false)
  const recordedAll = yield* Latch.make(true)
  let unsettled = 0
  let lastProgress = 0
  let isFinishing = false

  const record = (outcome: Outcome): void => {
    const { delivery, isTelling, settlement } = outcome
    if (isTelling && settlement.attempt !== null) health.attempted(delivery.integration.id, settlement.attempt)
    if (delivery.early_due_at !== null) endEarly(outcome)
    if (settlement.retry_after !== null) waitBeforeEarly(delivery.integration.id, settlement.retry_after)
    if (unsettled === 0) lastProgress = now()
    unsettled++
    outcomes.push(outcome)
    recordedAll.closeUnsafe()
    waiting.openUnsafe()
    if (outcomes.length >= recordBatch) recordNow.openUnsafe()
  }

  /** Gives deliveries back, due at a time. Early retries keep the time that they have. */
  const release = (deliveries: ReadonlyArray<LeasedDelivery>, dueAt: (delivery: LeasedDelivery) => number): void => {
    if (deliveries.length === 0) return
    for (const delivery of deliveries) {
      const { early_due_at, id } = delivery
      if (early_due_at !== null) health.gaveBackEarly(delivery, now())
      releases.push({ worker, id, dueAt: Math.max(early_due_at ?? 0, dueAt(delivery)) })
    }
    recordedAll.closeUnsafe()
    waiting.openUnsafe()
    recordNow.openUnsafe()
  }

  /** What can be recorded together: of one worker. */
  const takeBatch = () => {
    const of = outcomes[0]?.worker ?? releases[0]?.worker ?? worker
    const isOthers = (item: { readonly worker: string }) => item.worker !== of
    const count = outcomes.findIndex(isOthers)
    const most = releases.findIndex(isOthers)
    return {
      worker: of,
      settled: outcomes.splice(0, Math.min(recordBatch, count === -1 ? recordBatch : count)),
      released: releases.splice(0, Math.min(10 * recordBatch, most === -1 ? releases.length : most))
    }
  }

  type Batch = ReturnType<typeof takeBatch>

  const storeBatch = Effect.fnUntraced(function* ({ released, settled, worker: of }: Batch) {
    const at = now()
    const settlements = settled.map(({ settlement }) => settlement)
    counter.attempted(settled)
    let given = released.map(({ dueAt, id }) => ({ delivery_id: id, due_at: dueAt }))
    const answer = yield* Effect.suspend(() =>
      store.settle({ worker: of, settlements, releases: given }, at, settings.disableAfter)
    ).pipe(
      Effect.tapError((error) =>
        Effect.andThen(
          refusals.note("settle")(error),
          Effect.sync(() => {
            if (error.outcome !== "unknown") return
            // What was given back may be leased to this worker again by now: a release is not made twice.
            given = []
            releasing = []
            isInDoubt = true
            // It may have disabled integrations, and the retry will find nothing left to do.
            forgetAtOnce(new Set(settlements.map(({ integration_id }) => integration_id)))
            timer.noteDue(at)
          })
        )
      ),
      untilAnswered
    )
    if (answer.dueAgain) timer.noteDue(at)
    for (const { next_attempt_at } of settlements) if (next_attempt_at !== null) timer.noteDue(next_attempt_at)
    for (const { dueAt } of released) timer.noteDue(dueAt)
    if (settled.length > 0) yield* follow(settled, answer, at)
  })

  /** What follows from recorded outcomes in this process. */
  const follow = Effect.fnUntraced(function* (settled: ReadonlyArray<Outcome>, answer: Settled, at: number) {
    if (answer.notices.length > 0) yield* notices.tell(answer.notices, seenIn(settled))
    if (answer.changed.length > 0) forgetAtOnce(answer.changed)
    if (settings.catchUp) for (const recovery of answer.recovered) health.recovered(recovery, at)
    const isCurrent = answer.applied.size === settled.length
    const applied = isCurrent ? settled : settled.filter(({ delivery }) => answer.applied.has(delivery.id))
    counter.ended(applied)
    if (!isCurrent) yield* Metric.update(staleSettlements, settled.length - applied.length)
    const telling = applied.flatMap(({ delivery, isTelling, settlement: { attempt } }) =>
      isTelling ? [{ integration: delivery.integration, attempt }] : []
    )
    for (const { level, text } of health.recorded(telling, answer.notices, at))
      yield* level === "warn" ? Effect.logWarning(text) : Effect.logInfo(text)
  })

  const recordBatchOf = (batch: Batch): Effect.Effect<void> =>
    Effect.suspend(() => {
      recording = batch.settled
      releasing = batch.released
      return storeBatch(batch)
    }).pipe(
      // What could not be recorded because of a defect stays leased until it is noticed that nobody holds it.
      Effect.tapDefect(() => Effect.sync(noteLostAnswer)),
      Effect.ensuring(
        Effect.sync(() => {
          recording = []
          releasing = []
          // Until now what it was about counted as held, also what was leased again since and the answer to that was lost.
          if (isInDoubt) noteLostAnswer()
          isInDoubt = false
          // After a defect too: with nothing left to record, nothing else would say that the store can be asked again.
          refusals.clear("settle")
          unsettled -= batch.settled.length
          lastProgress = now()
          if (unsettled === 0 && releases.length === 0) recordedAll.openUnsafe()
          sender.pump()
          reconsider()
        })
      )
    )

  const recordWaiting = Effect.gen(function* () {
    yield* waiting.await
    if (!isFinishing) yield* Effect.timeoutOption(recordNow.await, recordDelay)
    recordNow.closeUnsafe()
    // What comes in while these are recorded waits for others again.
    for (let left = outcomes.length + releases.length; left > 0 && outcomes.length + releases.length > 0;) {
      const batch = takeBatch()
      left -= batch.settled.length + batch.released.length
      yield* recordBatchOf(batch)
    }
    if (outcomes.length + releases.length === 0) waiting.closeUnsafe()
  })

  const finishRecording = Effect.gen(function* () {
    isFinishing = true
    recordNow.openUnsafe()
    // Beside the loop, which may wait for others yet.
    while (outcomes.length + releases.length > 0)
      yield* Effect.catchDefect(recordBatchOf(takeBatch()), (defect) =>
        tellDefect("Recording attempts failed; it goes on", defect)
      )
    yield* recordedAll.await
  })

  // Sending.

  const sender: Sender = yield* makeSender({
    queue,
    breaker,
    worker: () => worker,
    maySend: () =>
      !isStopping && !refusals.has("settle") && unsettled < maxUnsettled * settings.concurrency && mayStart(now()),
    mayStart,
    changes: () => changes,
    isVoid: ({ id }, since) => isVoidSince(id, since),
    mayBeEarly: (integration) => mayBeEarly(integration),
    release,
    record,
    tried: () => reconsider(),
    closed: (cause, lasted) => {
      sender.pump()
      timer.signal()
      reconsider()
      run(logClosed(cause, lasted))
    }
  })

  /** Logs that an outage is over, and how large the backlog is. */
  const logClosed = Effect.fnUntraced(function* (cause: BreakerCause, lasted: number) {
    const after = `${closedText[cause]} after ${Math.round(lasted / 1_000)} s`
    yield* store.summary(now()).pipe(
      Effect.flatMap(({ states }) => Effect.logInfo(`${after}. ${states.pending + states.retrying} deliveries wait.`)),
      Effect.catchTag("StoreError", (error) =>
        Effect.logInfo(`${after}. How many deliveries wait is not known: ${error.message}`)
      )
    )
  })

  // Catching up: early retries after an outage of a receiver.

  const mayBeEarly = ({ id }: Integration): boolean => health.mayBeEarly(id, now())

  const endEarly = ({ delivery, settlement }: Outcome): void => {
    const { id } = delivery.integration
    const isAcknowledged = settlement.attempt?.outcome === "acknowledged"
    if (isAcknowledged && health.acknowledgedEarly(delivery, earlyPerPlace * queue.placesTo(id))) return reconsider()
    if (isAcknowledged) return
    health.stopEarly(id)
    release(
      queue.removeOf(id, ({ early_due_at }) => early_due_at !== null),
      now
    )
  }

  /** The receiver asks for no requests until a time. */
  const waitBeforeEarly = (id: IntegrationId, until: number): void => {
    health.askedToWait(id, until)
    release(
      queue.removeOf(id, ({ early_due_at }) => early_due_at !== null),
      now
    )
  }

  /** Claims the next round of early retries of each integration that catches up. */
  const claimEarly = Effect.gen(function* () {
    const at = now()
    for (const { id, window } of health.earlyRounds(at)) {
      const limit = queue.claimLimit(window)
      if (limit === 0) return
      const limits = new Map([[id, limit]])
      const since = changes
      const { deliveries } = yield* store.claim({
        worker,
        now: at,
        limit,
        limitPerIntegration: limit,
        limits,
        early: id
      })
      health.claimedEarly(id, deliveries)
      takeIn(deliveries, since)
    }
  })

  // Claiming.

  let lookedAt: number | null = null
  /** When it looks again unless it is nudged. */
  let nextLook = Number.POSITIVE_INFINITY
  const nudges = yield* Queue.sliding<void>(1)

  /** Nothing is claimed while nothing can be recorded or sent. */
  const nextTime = (at: number): number => {
    if (isStopping || refusals.has("settle")) return at + settings.pollInterval
    if (!mayStart(at)) {
      // The membership lapsed between two heartbeats: the clock went on without the timers, as on a suspended machine.
      if (!refusals.has("heartbeat")) Queue.offerUnsafe(beatHurry, undefined)
      return at + settings.pollInterval
    }
    // The clock was set back.
    if (lookedAt !== null && lookedAt > at) return at
    const paused = breaker.pausedUntil(at)
    if (paused !== null) return Math.min(paused, (lookedAt ?? at) + settings.pollInterval)
    // One of those that are held is tried first.
    if (breaker.isOpen && queue.queued > 0) return (lookedAt ?? at) + settings.pollInterval
    const early = queue.room > 0 ? health.nextEarly() : null
    return Math.min(timer.next(queue), early ?? Number.POSITIVE_INFINITY)
  }

  const reconsider = (): void => {
    if (nextTime(now()) < nextLook) Queue.offerUnsafe(nudges, undefined)
  }

  /** Queues what was claimed. What belongs to an integration that was changed in the meantime is given back. */
  const takeIn = (claimed: ReadonlyArray<LeasedDelivery>, since: number): void => {
    for (const delivery of claimed) {
      const { early_due_at, integration } = delivery
      const isVoid = isVoidSince(integration.id, since) || (early_due_at !== null && !mayBeEarly(integration))
      if (isStopping || isVoid) release([delivery], now)
      else queue.add(delivery)
    }
    sender.pump()
  }

  const claimDue = Effect.gen(function* () {
    const at = now()
    timer.begin(at)
    const since = changes
    const limitPerIntegration = queue.allowance
    const { limits } = queue
    const limit = queue.claimLimit(claimBatch)
    const counts = new Map<IntegrationId, number>(queue.behind.map((id) => [id, 0]))
    const { deliveries, next_due } = yield* store.claim({ worker, now: at, limit, limits, limitPerIntegration })
    lookedAt = at
    for (const { integration } of deliveries) counts.set(integration.id, (counts.get(integration.id) ?? 0) + 1)
    takeIn(deliveries, since)
    const isCutShort = limit > 0 && deliveries.length === limit
    for (const [integration, count] of counts)
      queue.noteBehind(integration, isCutShort || count >= (limits.get(integration) ?? limitPerIntegration))
    timer.end({ isCutShort, nextDue: next_due })
  })

  const claim = Effect.andThen(claimDue, claimEarly).pipe(
    // An interrupted claim would leave its deliveries leased to nobody.
    Effect.uninterruptible,
    leasing.withPermits(1),
    Effect.tap(() => Effect.sync(() => refusals.clear("claim"))),
    Effect.tapError((error: StoreError) =>
      Effect.andThen(
        refusals.note("claim")(error),
        Effect.sync(() => (error.outcome === "unknown" ? noteLostAnswer() : undefined))
      )
    ),
    Effect.tapDefect(() => Effect.sync(noteLostAnswer)),
    untilAnswered
  )

  /** Looks and takes nothing, while the breaker is open: so it is known whether the store could be claimed from. */
  const glance = Effect.suspend(() =>
    store.claim({ worker, now: now(), limit: 0, limits: new Map(), limitPerIntegration: 0 })
  ).pipe(
    Effect.tap(() =>
      Effect.sync(() => {
        lookedAt = now()
        refusals.clear("claim")
      })
    ),
    Effect.tapError(refusals.note("claim")),
    untilAnswered
  )

  const look = Effect.gen(function* () {
    const at = now()
    nextLook = nextTime(at)
    if (nextLook > at) yield* Effect.timeoutOption(Queue.take(nudges), nextLook - at)
    else {
      yield* breaker.pausedUntil(at) === null ? claim : glance
      // What was claimed starts before more is.
      yield* Effect.yieldNow
    }
  })

  const signal = Effect.sync(() => {
    timer.signal()
    reconsider()
  })

  // What other processes do.

  const listening = lasting("Listening for wake signals", Effect.andThen(wake.wait, signal))

  const listeningForChanges = lasting(
    "Listening for changes",
    Effect.flatMap(wake.changes, (ids) => {
      if (ids === null) forgetAll()
      else forgetAtOnce(ids)
      return signal
    })
  )

  // Warnings: an integration that gets an event a week should not be disabled without one.

  const warnSome = Effect.flatMap(Clock.currentTimeMillis, (at) =>
    store.warn(at, settings.disableAfter, warningBatch)
  ).pipe(Effect.tap((stored) => notices.tell(stored)))
  const warningInterval = Duration.millis(
    Math.min(Math.max(settings.disableAfter / warningLooks, shortestWarningInterval), longestWarningInterval)
  )
  const warnings = lasting(
    "Warning of integrations that fail",
    Effect.repeat(warnSome, { while: ({ length }) => length === warningBatch }).pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message)),
      Effect.andThen(Effect.sleep(warningInterval))
    )
  )

  // Publications.

  /** Those on their way to the store. */
  const publications = new Set<{ readonly began: number }>()

  const handOver = (): Handover => {
    const publication = { began: now() }
    publications.add(publication)
    const since = changes
    const of = worker
    const kept: Array<{ readonly id: IntegrationId; readonly size: number }> = []
    if (outcomes.length > 0) recordNow.openUnsafe()
    const giveUp = (): void => {
      publications.delete(publication)
      for (const { id, size } of kept.splice(0)) queue.unreserve(id, size)
    }
    return {
      worker: of,
      keep: (integration, lane, size) => {
        const isKept =
          !isStopping &&
          mayStart(publication.began) &&
          breaker.mayHold(integration.created_by.user_id) &&
          queue.reserve(integration.id, lane, size)
        if (isKept) kept.push({ id: integration.id, size })
        return isKept
      },
      stored: (leased, hasDue) => {
        for (const delivery of leased) {
          // Of a worker that is no member any more the next heartbeat releases it.
          if (of !== worker) continue
          if (isStopping || isVoidSince(delivery.integration.id, since)) release([delivery], now)
          else queue.add(delivery)
        }
        // After they were queued: the places of an integration are not forgotten in between.
        giveUp()
        if (of !== worker) Queue.offerUnsafe(beatHurry, undefined)
        if (hasDue) timer.signal()
        sender.pumpUrgent()
        if (hasDue) reconsider()
      },
      failed: (outcome) => {
        giveUp()
        if (outcome === "unknown") noteLostAnswer()
      }
    }
  }

  // Life.

  yield* Effect.forkScoped(lasting("Recording attempts", recordWaiting))
  const claiming = yield* Effect.forkScoped(
    Effect.andThen(
      Effect.catchDefect(beat, (defect) => tellDefect("The heartbeat failed; it goes on", defect)),
      Effect.all([lasting("Claiming deliveries", look), listening, beating, warnings], {
        concurrency: "unbounded",
        discard: true
      })
    )
  )
  // Until what is open has ended: an attempt that waits for the directory must not be made for a deleted integration.
  yield* Effect.forkScoped(listeningForChanges)

  // Runs before the loops above are interrupted: give back what has not begun, finish what is open, record it.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      isStopping = true
      release(
        queue.removeIf(() => true),
        now
      )
      // Attempts outlast the heartbeats by less than what is left of the membership.
      yield* sender.drain(longestAttempt(settings) + settleBudget)
      yield* Fiber.interrupt(claiming)
      release(
        queue.removeIf(() => true),
        now
      )
      yield* finishRecording.pipe(Effect.timeoutOption(settleBudget))
      yield* store
        .heartbeat({ worker, now: now(), until: null })
        .pipe(Effect.catchTag("StoreError", (error) => Effect.logDebug(error.message)))
    })
  )

  return Dispatcher.of({
    handOver,
    // The caller may hang up: what is taken out is given back all the same.
    forget: (integration) =>
      Effect.sync(() => {
        forgetAtOnce([integration])
        timer.signal()
        reconsider()
      }),
    status: Effect.sync(() => ({
      delivering: queue.open,
      buffered: queue.queued,
      unsettled,
      unsettled_since: unsettled === 0 ? null : lastProgress,
      last_claim_at: lookedAt,
      store_failing_since: refusals.since,
      outage: breaker.longest,
      failing: health.failing,
      worst: health.worst(worstShown),
      catching_up: health.catchingUp
    }))
  })
})
