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
import { Clock, Effect, Fiber, Latch, Metric, Queue, Schedule, Semaphore } from "effect"
import type { Scope } from "effect"
import type { LeasedDelivery } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import { Crypto } from "../../ports/Crypto.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { Directory } from "../../ports/Directory.ts"
import type { StoreError } from "../../ports/StoreError.ts"
import type { Transport } from "../../ports/Transport.ts"
import { Wake } from "../../ports/Wake.ts"
import { countAttempts, staleSettlements } from "../DeliveryMetrics.ts"
import { DeliverySettings, settleBudget } from "../DeliverySettings.ts"
import type { Dispatcher } from "../Dispatcher.ts"
import { Notices } from "../Notices.ts"
import { ClaimTiming } from "./ClaimTiming.ts"
import { FailureStreaks } from "./FailureStreaks.ts"
import { LaneBuffer } from "./LaneBuffer.ts"
import { Leases } from "./Leases.ts"
import type { Outcome } from "./Sending.ts"
import { makeSender } from "./Sending.ts"
import { beatFor, beatInterval } from "./Shares.ts"

/** How long outcomes wait for others to be recorded with, in milliseconds. */
const settleDelay = 10

/** The most outcomes that wait to be recorded, as a multiple of the requests open at once. */
const maxUnsettled = 16

/** The most deliveries claimed in one transaction: more would hold up the calls behind it. */
const claimBatch = 150

/** The most outcomes recorded in one transaction, for the same reason. */
const settleBatch = 150

/** How the store is tried again when it does not answer: for as long as it takes. */
const storeRetry = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** How many failing integrations are shown by name. */
const worstShown = 20

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

  const buffer = new LaneBuffer(settings)
  const streaks = new FailureStreaks()
  const outcomes = yield* Queue.unbounded<Outcome>()
  /** Asks the claimer to look again. */
  const nudges = yield* Queue.sliding<void>(1)
  const settledAll = yield* Latch.make(true)
  const worker = Array.from(yield* crypto.randomBytes(8), (byte) => byte.toString(16).padStart(2, "0")).join("")

  const leases = new Leases(worker, settings.lease)
  const timing = new ClaimTiming({
    pollInterval: settings.pollInterval,
    goodRoom: Math.min(claimBatch, Math.floor(settings.buffer / 8))
  })

  let unsettled = 0
  let stopping = false
  let lastClaimAt: number | null = null
  /** When the claimer looks again unless it is nudged. */
  let nextLook = Number.POSITIVE_INFINITY

  /** Wakes the claimer when it should look earlier than it means to. */
  const reconsider = Effect.sync(() => {
    if (timing.next(buffer) < nextLook) Queue.offerUnsafe(nudges, undefined)
  })

  /** What the store refuses to do, and since when. */
  const refused = new Map<"claim" | "settle", number>()

  const noteRefusal = (operation: "claim" | "settle") => (error: StoreError) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (!refused.has(operation)) refused.set(operation, now)
      return Effect.logWarning(error.message)
    })

  const signal = Effect.andThen(
    Effect.sync(() => timing.signal()),
    reconsider
  )

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

  /** Sends nothing more of what is held of some integrations; it is claimed anew if it is due. */
  const forget = (changed: Iterable<IntegrationId>, now: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      const held = Array.from(changed, (id) => {
        leases.forget(id, now)
        return buffer.removeOf(id)
      })
      return giveBack(held.flat(), now)
    })

  const sender = yield* makeSender({
    buffer,
    maySend: () => !stopping && unsettled < maxUnsettled * settings.concurrency,
    isVoid: (delivery) => leases.isVoid(delivery),
    giveBack,
    record: (outcome) => {
      const { attempt } = outcome.settlement
      if (attempt !== null) streaks.note(outcome.delivery.integration.id, attempt)
      unsettled++
      settledAll.closeUnsafe()
      Queue.offerUnsafe(outcomes, outcome)
    }
  })

  // --- settler

  /** Claims and settlements take turns, so that a publication waits behind one of them at most. */
  const turns = Semaphore.makeUnsafe(1)
  const oneAtATime = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    turns.withPermits(1)(Effect.tap(transaction, Effect.yieldNow))

  const settle = Effect.fnUntraced(function* (batch: ReadonlyArray<Outcome>) {
    const now = yield* Clock.currentTimeMillis
    yield* countAttempts(batch)
    const { applied, changed, notices } = yield* store
      .settle(
        batch.map(({ settlement }) => settlement),
        now,
        settings.disableAfter
      )
      .pipe(
        oneAtATime,
        Effect.tapError(noteRefusal("settle")),
        // It may have disabled integrations all the same, and the retry will find nothing left to do.
        Effect.tapError(({ outcome }) =>
          outcome === "unknown"
            ? forget(new Set(batch.map(({ settlement }) => settlement.integration_id)), now)
            : Effect.void
        ),
        Effect.retry(storeRetry),
        // The schedule has no end; a store that never answers again is ended with the scope.
        Effect.orDie
      )
    refused.delete("settle")
    let stale = 0
    for (const { delivery, settlement } of batch) {
      if (!applied.has(delivery.id)) stale++
      if (settlement.next_attempt_at !== null) timing.noteDue(settlement.next_attempt_at)
    }
    yield* forget(changed, now)
    yield* told.tell(notices)
    if (stale > 0) yield* Metric.update(staleSettlements, stale)
    unsettled -= batch.length
    if (unsettled === 0) settledAll.openUnsafe()
    sender.pump()
    yield* reconsider
  })

  const settler = Effect.forever(
    Effect.gen(function* () {
      const first = yield* Queue.take(outcomes)
      yield* Effect.sleep(settleDelay)
      const all = [first, ...(yield* Queue.clear(outcomes))]
      for (let at = 0; at < all.length; at += settleBatch) yield* settle(all.slice(at, at + settleBatch))
    })
  )

  // --- claimer

  /** Takes what there is room for. */
  const claim = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    timing.begin(now)
    // With the buffer full, there is still room for what others need at least.
    const isFull = buffer.room === 0
    const limit = isFull ? claimBatch : Math.min(buffer.room, claimBatch)
    const limitPerIntegration = isFull ? buffer.minimum : buffer.depth
    const limits = buffer.appetites
    const counts = new Map<IntegrationId, number>(buffer.behind.map((id) => [id, 0]))
    const claimed = yield* store.claim({ now, lease: leases.next(now), limit, limits, limitPerIntegration })
    lastClaimAt = now
    refused.delete("claim")
    for (const delivery of claimed) {
      counts.set(delivery.integration.id, (counts.get(delivery.integration.id) ?? 0) + 1)
      buffer.acceptClaimed(delivery)
    }
    const cutShort = claimed.length === limit
    for (const [integration, count] of counts) {
      buffer.setBehind(integration, cutShort || count >= (limits.get(integration) ?? limitPerIntegration))
    }
    sender.pump()
    timing.end({ cutShort, nextDue: cutShort ? null : yield* store.nextDue })
  }).pipe(
    // A claim that is interrupted half way would leave its deliveries to the end of their leases.
    Effect.uninterruptible,
    oneAtATime,
    Effect.tapError(noteRefusal("claim")),
    Effect.retry(storeRetry)
  )

  const claimer = Effect.forever(
    Effect.gen(function* () {
      nextLook = timing.next(buffer)
      const wait = nextLook - (yield* Clock.currentTimeMillis)
      if (wait > 0) return yield* Effect.timeoutOption(Queue.take(nudges), wait)
      yield* claim
    })
  )

  const waker = Effect.forever(Effect.andThen(wake.wait, signal))

  /** Heeds what other processes change. */
  const changes = Effect.forever(
    Effect.gen(function* () {
      const changed = yield* wake.changes
      const now = yield* Clock.currentTimeMillis
      if (changed === null) {
        leases.forgetAll()
        yield* giveBack(buffer.removeAll(), now)
      }
      // Not waited for: the next change must be heeded at once.
      else yield* Effect.forkScoped(forget(changed, now), { startImmediately: true })
      yield* signal
    })
  )

  /** Says that this worker lives, and hears how many do: they share each integration's places. */
  const beat = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    buffer.share(yield* store.beat(worker, now, now + beatFor))
    sender.pump()
  }).pipe(
    // Whoever can't be counted can't claim either, and says so there.
    Effect.catchTag("StoreError", (error) => Effect.logDebug(error.message))
  )
  const beating = Effect.forever(Effect.andThen(Effect.sleep(beatInterval), beat))

  yield* Effect.forkScoped(settler)
  const claiming = yield* Effect.forkScoped(
    Effect.andThen(beat, Effect.all([claimer, waker, changes, beating], { concurrency: "unbounded", discard: true }))
  )

  // Runs before the loops above are interrupted: finish what is open, record it, give the rest back.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      stopping = true
      yield* Fiber.interrupt(claiming)
      yield* giveBack(buffer.removeAll(), yield* Clock.currentTimeMillis)
      yield* sender.drain(settings.ackTimeout + settleBudget)
      yield* settledAll.await.pipe(Effect.timeoutOption(settleBudget))
      yield* store.leave(worker).pipe(Effect.catchTag("StoreError", (error) => Effect.logDebug(error.message)))
    })
  )

  return {
    reserve: (wanted) =>
      Effect.map(Clock.currentTimeMillis, (now) => ({
        lease: leases.next(now),
        admitted: wanted.map(({ integration_id, lane }) => !stopping && buffer.reserve(integration_id, lane))
      })),
    accept: (deliveries) =>
      Effect.suspend(() => {
        for (const delivery of deliveries) buffer.acceptReserved(delivery)
        if (stopping) return Effect.flatMap(Clock.currentTimeMillis, (now) => giveBack(buffer.removeAll(), now))
        sender.pumpUrgent()
        return Effect.void
      }),
    cancel: (admitted) => Effect.sync(() => admitted.forEach(({ integration_id }) => buffer.unreserve(integration_id))),
    forget: (integration) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => forget([integration], now)).pipe(Effect.andThen(signal)),
    status: Effect.sync(() => ({
      delivering: buffer.open,
      buffered: buffer.queued,
      unsettled,
      last_claim_at: lastClaimAt,
      store_failing_since: refused.size === 0 ? null : Math.min(...refused.values()),
      failing: streaks.count,
      worst: streaks.longest(worstShown)
    }))
  }
})
