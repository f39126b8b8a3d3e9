/**
 * The dispatcher that sends.
 *
 * Three loops and a buffer. The *claimer* leases due deliveries from the store whenever there is room. The *sender*
 * starts attempts from the buffer, in its order, as places come free. The *settler* records outcomes, as many in one
 * transaction as have come in. Publishers hand new deliveries over in memory, already leased and stored.
 *
 * When the store is slow or away, sending stops before more is sent than can be recorded. What is not settled before its
 * lease ends is sent again: at least once.
 */
import { Clock, Effect, Fiber, FiberSet, Latch, Metric, Queue, Schedule } from "effect"
import type { Scope } from "effect"
import type { Lease, LeasedDelivery } from "../../domain/Delivery.ts"
import { formatDeliveryId } from "../../domain/Ids.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import { Crypto } from "../../ports/Crypto.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { Directory } from "../../ports/Directory.ts"
import type { Transport } from "../../ports/Transport.ts"
import { Wake } from "../../ports/Wake.ts"
import { countAttempt, staleSettlements } from "../DeliveryMetrics.ts"
import { DeliverySettings, settleBudget } from "../DeliverySettings.ts"
import type { Dispatcher } from "../Dispatcher.ts"
import { Notices } from "../Notices.ts"
import { makeAttempting } from "./Attempting.ts"
import { LaneBuffer } from "./LaneBuffer.ts"

/** How long outcomes wait for others to be recorded with, in milliseconds. */
const settleDelay = 5

/** The most outcomes that wait to be recorded, as a multiple of the requests open at once. */
const maxUnsettled = 16

/** The most deliveries claimed in one transaction: more would hold up the calls behind it. */
const claimBatch = 250

/** How long a delivery waits that could not be attempted through no fault of its receiver, in milliseconds. */
const retryLater = 5_000

/** How the store is tried again when it does not answer: for as long as it takes. */
const storeRetry = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

interface Outcome {
  readonly delivery: LeasedDelivery
  readonly settlement: Settlement
}

/** Starts sending, for as long as the scope lives; closing it finishes what is open and gives back the rest. */
export const makeDispatcher: Effect.Effect<
  Dispatcher["Service"],
  never,
  Scope.Scope | DeliveryStore | DeliverySettings | Directory | Transport | Wake | Crypto | Notices
> = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const settings = yield* DeliverySettings
  const wake = yield* Wake
  const crypto = yield* Crypto
  const told = yield* Notices
  const attempting = yield* makeAttempting

  const buffer = new LaneBuffer(settings)
  const outcomes = yield* Queue.unbounded<Outcome>()
  /** Asks the claimer to look again. */
  const nudges = yield* Queue.sliding<void>(1)
  const settledAll = yield* Latch.make(true)
  const attempts = yield* FiberSet.make<void>()
  const startAttempt = yield* FiberSet.runtime(attempts)()
  const worker = Array.from(yield* crypto.randomBytes(8), (byte) => byte.toString(16).padStart(2, "0")).join("")

  let leaseCount = 0
  let unsettled = 0
  let stopping = false
  let lastClaimAt: number | null = null
  /** When the claimer will look again by itself. */
  let nextLook = Number.POSITIVE_INFINITY
  /** The last claim took all there was room for: the store may have more, of integrations we don't hold. */
  let starved = false

  const newLease = (now: number): Lease => ({ token: `${worker}.${++leaseCount}`, until: now + settings.lease })

  /** Of integrations that were changed or deleted, the last lease from before and its end: what is under it is void. */
  const forgotten = new Map<IntegrationId, { readonly lease: number; readonly until: number }>()

  /** A claim or a publication can be under way while its integration is forgotten, and come in afterwards. */
  const isVoid = ({ integration, lease }: LeasedDelivery): boolean => {
    const last = forgotten.get(integration.id)?.lease
    return last !== undefined && Number(lease.token.slice(worker.length + 1)) <= last
  }

  const nudge = Effect.sync(() => Queue.offerUnsafe(nudges, undefined))

  const giveBack = (deliveries: ReadonlyArray<LeasedDelivery>, dueAt: number): Effect.Effect<void> =>
    deliveries.length === 0
      ? Effect.void
      : store
          .release(
            deliveries.map(({ id, lease }) => ({ delivery_id: id, token: lease.token })),
            dueAt
          )
          .pipe(
            // What can't be given back comes back by itself when its lease ends.
            Effect.catchTag("StoreError", (error) => Effect.logWarning(error.message))
          )

  const giveBackLater = (deliveries: ReadonlyArray<LeasedDelivery>): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => giveBack(deliveries, now + retryLater))

  /** Sends nothing more of what is held of some integrations; it is claimed anew if it is due. */
  const forget = (changed: Iterable<IntegrationId>, now: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      for (const [id, { until }] of forgotten) if (until < now) forgotten.delete(id)
      const held = Array.from(changed, (id) => {
        forgotten.set(id, { lease: leaseCount, until: now + settings.lease })
        return buffer.removeOf(id)
      })
      return giveBack(held.flat(), now)
    })

  // --- sender

  /** Gives back what must not be attempted under its lease; says whether it did. */
  const turnAway = Effect.fnUntraced(function* (delivery: LeasedDelivery) {
    const now = yield* Clock.currentTimeMillis
    const tooLate = now + settings.ackTimeout + settleBudget
    if (isVoid(delivery)) yield* giveBack([delivery], now)
    // Its receiver, or the directory, answers too slowly for what we hold of it.
    else if (delivery.lease.until < tooLate)
      yield* giveBack([delivery, ...buffer.removeLate(delivery.integration.id, tooLate)], now)
    else return false
    return true
  })

  const attempt = Effect.fnUntraced(function* (delivery: LeasedDelivery) {
    if (yield* turnAway(delivery)) return
    const ending = yield* attempting.ending(delivery)
    // Much can have happened while the directory was asked.
    if (ending === null && (yield* turnAway(delivery))) return
    const settlement = ending ?? (yield* attempting.make(delivery))
    if (settlement.attempt !== null) yield* countAttempt(delivery.event.resource_type, settlement.attempt)
    unsettled++
    settledAll.closeUnsafe()
    Queue.offerUnsafe(outcomes, { delivery, settlement })
  })

  const send = (delivery: LeasedDelivery): Effect.Effect<void> =>
    attempt(delivery).pipe(
      Effect.catchTag(["DirectoryError", "TransportUnavailable"], (error) =>
        Effect.logWarning(`${formatDeliveryId(delivery.id)} waits: ${error.message}`).pipe(
          Effect.andThen(giveBackLater([delivery]))
        )
      ),
      // A defect must not strand its delivery: it is given back and its cause is told.
      Effect.catchDefect((defect) =>
        Effect.logError(`${formatDeliveryId(delivery.id)} could not be attempted`, defect).pipe(
          Effect.andThen(giveBackLater([delivery]))
        )
      ),
      Effect.ensuring(
        Effect.sync(() => {
          buffer.answered(delivery)
          pump()
        })
      )
    )

  const pump = (): void => {
    if (stopping || unsettled >= maxUnsettled * settings.concurrency) return
    for (let delivery = buffer.next(); delivery !== undefined; delivery = buffer.next()) startAttempt(send(delivery))
  }

  // --- settler

  const settle = Effect.fnUntraced(function* (batch: ReadonlyArray<Outcome>) {
    const now = yield* Clock.currentTimeMillis
    const { applied, changed, notices } = yield* store
      .settle(
        batch.map(({ settlement }) => settlement),
        now,
        settings.disableAfter
      )
      .pipe(
        Effect.tapError((error) => Effect.logWarning(error.message)),
        Effect.retry(storeRetry),
        // The schedule has no end; a store that never answers again is ended with the scope.
        Effect.orDie
      )
    let soonest = Number.POSITIVE_INFINITY
    let stale = 0
    for (const { delivery, settlement } of batch) {
      if (!applied.has(delivery.id)) stale++
      if (settlement.next_attempt_at !== null) soonest = Math.min(soonest, settlement.next_attempt_at)
    }
    yield* forget(changed, now)
    yield* told.tell(notices)
    if (stale > 0) yield* Metric.update(staleSettlements, stale)
    unsettled -= batch.length
    if (unsettled === 0) settledAll.openUnsafe()
    pump()
    const refill = starved ? buffer.room >= settings.concurrency : buffer.hasAppetite
    if (refill || soonest < nextLook) yield* nudge
  })

  const settler = Effect.forever(
    Effect.gen(function* () {
      const first = yield* Queue.take(outcomes)
      yield* Effect.sleep(settleDelay)
      yield* settle([first, ...(yield* Queue.clear(outcomes))])
    })
  )

  // --- claimer

  /** Takes what there is room for, and answers when to look again. */
  const claim = Effect.fnUntraced(function* () {
    const now = yield* Clock.currentTimeMillis
    const limit = Math.min(buffer.room, claimBatch)
    const limits = buffer.appetites
    const counts = new Map<IntegrationId, number>(buffer.behind.map((id) => [id, 0]))
    const claimed =
      limit === 0
        ? []
        : yield* store.claim({ now, lease: newLease(now), limit, limits, limitPerIntegration: buffer.depth })
    lastClaimAt = now
    for (const delivery of claimed) {
      counts.set(delivery.integration.id, (counts.get(delivery.integration.id) ?? 0) + 1)
      buffer.acceptClaimed(delivery)
    }
    starved = claimed.length === limit
    for (const [integration, count] of counts) {
      buffer.setBehind(integration, starved || count >= (limits.get(integration) ?? buffer.depth))
    }
    pump()
    if (!starved && buffer.hasAppetite) return now
    const due = yield* store.nextDue
    // What is due already and was not taken has no room: the settler nudges when there is.
    return due === null || due <= now ? now + settings.pollInterval : Math.min(due, now + settings.pollInterval)
  })

  const claimer = Effect.forever(
    Effect.gen(function* () {
      // A claim that is interrupted half way would leave its deliveries to the end of their leases.
      nextLook = yield* Effect.uninterruptible(claim())
      const wait = nextLook - (yield* Clock.currentTimeMillis)
      if (wait > 0) yield* Effect.timeoutOption(Queue.take(nudges), wait)
      else yield* Effect.yieldNow
    }).pipe(
      Effect.tapError((error) => Effect.logWarning(error.message)),
      Effect.retry(storeRetry)
    )
  )

  const waker = Effect.forever(Effect.andThen(wake.wait, nudge))

  /** Heeds what other processes change. */
  const changes = Effect.forever(
    Effect.gen(function* () {
      const changed = yield* wake.changes
      yield* forget(changed ?? buffer.integrations, yield* Clock.currentTimeMillis)
      yield* nudge
    })
  )

  yield* Effect.forkScoped(settler)
  const claiming = yield* Effect.forkScoped(
    Effect.all([claimer, waker, changes], { concurrency: "unbounded", discard: true })
  )

  // Runs before the loops above are interrupted: finish what is open, record it, give the rest back.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      stopping = true
      yield* Fiber.interrupt(claiming)
      yield* giveBack(buffer.removeAll(), yield* Clock.currentTimeMillis)
      yield* FiberSet.awaitEmpty(attempts).pipe(Effect.timeoutOption(settings.ackTimeout + settleBudget))
      yield* settledAll.await.pipe(Effect.timeoutOption(settleBudget))
    })
  )

  return {
    reserve: (wanted) =>
      Effect.map(Clock.currentTimeMillis, (now) => ({
        lease: newLease(now),
        admitted: wanted.map(({ integration_id, lane }) => !stopping && buffer.reserve(integration_id, lane))
      })),
    accept: (deliveries) =>
      Effect.suspend(() => {
        for (const delivery of deliveries) buffer.acceptReserved(delivery)
        if (stopping) return Effect.flatMap(Clock.currentTimeMillis, (now) => giveBack(buffer.removeAll(), now))
        pump()
        return Effect.void
      }),
    cancel: (admitted) => Effect.sync(() => admitted.forEach(({ integration_id }) => buffer.unreserve(integration_id))),
    forget: (integration) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => forget([integration], now)).pipe(Effect.andThen(nudge)),
    status: Effect.sync(() => ({ delivering: buffer.open, buffered: buffer.queued, last_claim_at: lastClaimAt }))
  }
})
