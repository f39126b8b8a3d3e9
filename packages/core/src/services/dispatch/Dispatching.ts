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
import { Clock, Effect, Fiber, Semaphore } from "effect"
import type { Scope } from "effect"
import type { LeasedDelivery } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import { Crypto } from "../../ports/Crypto.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { Directory } from "../../ports/Directory.ts"
import type { Transport } from "../../ports/Transport.ts"
import { Wake } from "../../ports/Wake.ts"
import { DeliverySettings, longestAttempt, settleBudget } from "../DeliverySettings.ts"
import type { Dispatcher } from "../Dispatcher.ts"
import { lasting, tellDefect } from "../Lasting.ts"
import type { Notices } from "../Notices.ts"
import { makeClaimer } from "./Claimer.ts"
import { FailureStreaks } from "./FailureStreaks.ts"
import { LaneBuffer } from "./LaneBuffer.ts"
import { Leases } from "./Leases.ts"
import type { OutageCause } from "./Outages.ts"
import { Outages } from "./Outages.ts"
import { makeRecorder } from "./Recording.ts"
import { Refusals } from "./Refusals.ts"
import { makeSender } from "./Sending.ts"
import { beatFor, beatInterval } from "./Shares.ts"
import { makeWarnings } from "./Warnings.ts"

/** How many failing integrations are shown by name. */
const worstShown = 20

const makeWorkerName = Effect.gen(function* () {
  const bytes = yield* (yield* Crypto).randomBytes(8)
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
})

const ofCause: Readonly<Record<OutageCause, string>> = {
  directory: "The directory answers again",
  egress: "There is a way out to receivers again"
}

/** Says that an outage is over, and how much waited for it. */
const tellEnd = Effect.fnUntraced(function* (store: DeliveryStore["Service"], cause: OutageCause, lasted: number) {
  const after = `${ofCause[cause]} after ${Math.round(lasted / 1_000)} s`
  const now = yield* Clock.currentTimeMillis
  yield* store.summary(now).pipe(
    Effect.flatMap(({ states }) => Effect.logInfo(`${after}. ${states.pending + states.retrying} deliveries wait.`)),
    Effect.catchTag("StoreError", (error) =>
      Effect.logInfo(`${after}. How many deliveries wait is not known: ${error.message}`)
    )
  )
})

/** Starts sending, for as long as the scope lives; closing it finishes what is open and gives back the rest. */
export const makeDispatcher: Effect.Effect<
  Dispatcher["Service"],
  never,
  Scope.Scope | DeliveryStore | DeliverySettings | Directory | Transport | Wake | Crypto | Notices
> = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const settings = yield* DeliverySettings
  const wake = yield* Wake
  const clock = yield* Clock.Clock

  const worker = yield* makeWorkerName
  const leases = new Leases(worker, settings.lease)
  const buffer = new LaneBuffer(settings)
  const streaks = new FailureStreaks()
  const refusals = new Refusals()
  const outages = new Outages()
  let stopping = false

  /** Claims and settlements take turns, so that a publication waits behind one of them at most. */
  const turns = Semaphore.makeUnsafe(1)
  const inTurn = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    turns.withPermits(1)(Effect.tap(transaction, Effect.yieldNow))

  const giveBack = (deliveries: ReadonlyArray<LeasedDelivery>, dueAt: number): Effect.Effect<void> =>
    deliveries.length === 0
      ? Effect.void
      : store
          .release(
            deliveries.map(({ id, lease }) => ({ delivery_id: id, token: lease.token })),
            dueAt
          )
          .pipe(
            Effect.map(() => {
              claimer.noteDue(dueAt)
              claimer.reconsider()
            }),
            // What can't be given back comes back by itself when its lease ends.
            Effect.catchTag("StoreError", (error) => {
              for (const { lease } of deliveries) claimer.noteDue(lease.until)
              claimer.reconsider()
              return Effect.logWarning(error.message)
            })
          )

  /** Sends nothing more of what is held of some integrations; it is claimed anew if it is due. */
  const forget = (changed: Iterable<IntegrationId>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      const held = Array.from(changed, (id) => {
        leases.forget(id, now)
        streaks.forget(id)
        return buffer.removeOf(id)
      })
      return giveBack(held.flat(), now)
    })

  /** Sends nothing more of what is held at all. */
  const forgetAll = Effect.suspend(() => {
    leases.forgetAll()
    return giveBack(buffer.removeAll(), clock.currentTimeMillisUnsafe())
  })

  const claimer = yield* makeClaimer({ buffer, leases, outages, refusals, inTurn, pump: () => sender.pump() })

  /**
   * Whether an attempt shows how its integration does. One that began before the integration was changed, disabled or deleted
   * does not, and neither does a probe: nothing would follow that ends what it says.
   */
  const isTelling = (delivery: LeasedDelivery): boolean =>
    delivery.integration.status === "enabled" && !leases.isVoid(delivery)

  const recorder = yield* makeRecorder({
    refusals,
    isTelling,
    inTurn,
    forget,
    noteDue: claimer.noteDue,
    goOn: () => {
      sender.pump()
      claimer.reconsider()
    }
  })

  const sender = yield* makeSender({
    buffer,
    outages,
    maySend: () => !stopping && recorder.keepsUp(),
    isVoid: (delivery) => leases.isVoid(delivery),
    giveBack,
    record: (outcome) => {
      const { delivery, settlement } = outcome
      if (settlement.attempt !== null && isTelling(delivery)) streaks.note(delivery.integration.id, settlement.attempt)
      recorder.record(outcome)
    },
    tried: claimer.reconsider,
    resume: (cause, lasted) =>
      Effect.suspend(() => {
        sender.pump()
        return Effect.andThen(claimer.signal, tellEnd(store, cause, lasted))
      })
  })

  const waking = lasting("Listening for wake signals", Effect.andThen(wake.wait, claimer.signal))

  /** Heeds what other processes change. */
  const changes = lasting(
    "Listening for changes",
    Effect.gen(function* () {
      const changed = yield* wake.changes
      // Not waited for: the next change must be heeded at once.
      yield* Effect.forkScoped(changed === null ? forgetAll : forget(changed), { startImmediately: true })
      yield* claimer.signal
    })
  )

  /** Says that this worker lives, and hears how many do: they share each integration's places. */
  const beat = Effect.gen(function* () {
    const now = clock.currentTimeMillisUnsafe()
    buffer.share(yield* store.beat(worker, now, now + beatFor))
    refusals.clear("beat")
    sender.pump()
    // Nobody else knows what a worker that died had taken in and not told of, nor when its leases end.
    const due = yield* store.nextDue
    if (due !== null) claimer.noteDue(due)
    claimer.reconsider()
  }).pipe(
    // With nothing to send this is the only write: it is how a full disk is noticed before an event comes.
    Effect.catchTag("StoreError", refusals.note("beat"))
  )
  const beating = lasting("Counting workers", Effect.andThen(Effect.sleep(beatInterval), beat))

  const warnings = yield* makeWarnings(inTurn)

  yield* Effect.forkScoped(recorder.run)
  const claiming = yield* Effect.forkScoped(
    Effect.andThen(
      Effect.catchDefect(beat, (defect) => tellDefect("Counting workers failed; it goes on", defect)),
      Effect.all([claimer.run, waking, beating, warnings], { concurrency: "unbounded", discard: true })
    )
  )
  // To the end of what is open: an attempt that waits for the directory must not be made once its integration has ended.
  yield* Effect.forkScoped(changes)

  // Runs before the loops above are interrupted: give back what has not begun, finish what is open, record it.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      stopping = true
      yield* Fiber.interrupt(claiming)
      yield* giveBack(buffer.removeAll(), clock.currentTimeMillisUnsafe())
      yield* sender.drain(longestAttempt(settings) + settleBudget)
      yield* recorder.finish.pipe(Effect.timeoutOption(settleBudget))
      yield* store.leave(worker).pipe(Effect.catchTag("StoreError", (error) => Effect.logDebug(error.message)))
    })
  )

  return {
    reserve: (wanted) =>
      Effect.sync(() => ({
        lease: leases.next(clock.currentTimeMillisUnsafe()),
        // What can't be sent now waits in the store.
        admitted: wanted.map(
          ({ integration_id, lane, owner }) =>
            !stopping && outages.mayHold(owner) && buffer.reserve(integration_id, lane)
        )
      })),
    accept: (deliveries) =>
      Effect.suspend(() => {
        for (const delivery of deliveries) buffer.acceptReserved(delivery)
        if (stopping) return giveBack(buffer.removeAll(), clock.currentTimeMillisUnsafe())
        sender.pumpUrgent()
        return Effect.void
      }),
    cancel: (admitted) =>
      Effect.sync(() => {
        for (const { integration_id } of admitted) buffer.unreserve(integration_id)
        // The store may have carried it out and lost its answer: then it is there, under a lease of ours.
        claimer.noteDue(clock.currentTimeMillisUnsafe() + settings.lease)
        claimer.reconsider()
      }),
    // Whoever asks may hang up: what is taken out must be given back all the same.
    forget: (integration) => Effect.uninterruptible(Effect.andThen(forget([integration]), claimer.signal)),
    status: Effect.sync(() => ({
      delivering: buffer.open,
      buffered: buffer.queued,
      unsettled: recorder.unsettled(),
      unsettled_since: recorder.waitingSince(),
      last_claim_at: claimer.lookedAt(),
      store_failing_since: refusals.since,
      outage: outages.longest,
      failing: streaks.count,
      worst: streaks.longest(worstShown)
    }))
  }
})
