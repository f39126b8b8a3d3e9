/**
 * The sender: starts attempts from the buffer, in its order, as places come free.
 *
 * Each attempt is a fiber of its own. What happens once for each delivery is plain code here: no timer, no generator and
 * no bookkeeping that is not needed.
 */
import { Clock, Effect, Exit, Fiber } from "effect"
import type { LeasedDelivery } from "../../domain/Delivery.ts"
import type { UserId } from "../../domain/Ids.ts"
import { formatDeliveryId } from "../../domain/Ids.ts"
import type { Crypto } from "../../ports/Crypto.ts"
import type { Directory, DirectoryError } from "../../ports/Directory.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import { failureText } from "../../ports/FailureText.ts"
import type { Transport, TransportBusy, TransportUnavailable } from "../../ports/Transport.ts"
import { shownHost } from "../../rules/UrlPolicy.ts"
import { DeliverySettings, settleBudget } from "../DeliverySettings.ts"
import { tellDefect } from "../Lasting.ts"
import { makeAttempting } from "./Attempting.ts"
import type { LaneBuffer, Pace } from "./LaneBuffer.ts"
import type { OutageCause, Outages } from "./Outages.ts"
import { retryLater } from "./Outages.ts"

/** How long what could not be attempted waits for others, to be given back with them, in milliseconds. */
const gatherFor = 10

/**
 * How many attempts are started before others have their turn: a call is stored between two slices, not after all of
 * them.
 */
const slice = 16

/** An attempt that took longer than this was a wait for the receiver, however it ended, in milliseconds. */
const slowAttempt = 1_000

/** How often it is logged at most that deliveries wait for this process itself, in milliseconds. */
const busyReportEvery = 60_000

const paceOf = ({ attempt }: Settlement): Pace => {
  if (attempt === null) return null
  if (attempt.duration_ms > slowAttempt) return "slow"
  return attempt.outcome === "acknowledged" ? "prompt" : null
}

/** What a delivery is called in a log. */
const named = ({ id, integration }: LeasedDelivery): string =>
  `${formatDeliveryId(id)} to integration ${integration.id} (${shownHost(integration.configuration.url)})`

/** About whom the directory is asked. */
const ownerOf = ({ integration }: LeasedDelivery): UserId => integration.created_by.user_id

/** How a delivery ended for now. */
export interface Outcome {
  readonly delivery: LeasedDelivery
  readonly settlement: Settlement
}

/** What the sender asks of the dispatcher around it. */
export interface SenderOptions {
  readonly buffer: LaneBuffer
  readonly outages: Outages
  /** Whether anything may be sent now. */
  readonly maySend: () => boolean
  /** Whether what a delivery is to be sent to has changed since it was leased. */
  readonly isVoid: (delivery: LeasedDelivery) => boolean
  /** Gives deliveries back to the store unattempted, due at a time. */
  readonly giveBack: (deliveries: ReadonlyArray<LeasedDelivery>, dueAt: number) => Effect.Effect<void>
  readonly record: (outcome: Outcome) => void
  /** A try during an outage is over: it is known when the next one may be made. */
  readonly tried: () => void
  /** An outage is over that lasted so many milliseconds: everything can be sent again. */
  readonly resume: (cause: OutageCause, lasted: number) => Effect.Effect<void>
}

export interface Sender {
  /** Starts all that has a place, from the next turn of the event loop on. */
  readonly pump: () => void
  /** Starts what is urgent and has a place now, and all else as `pump` does. */
  readonly pumpUrgent: () => void
  /** Waits, so long at most, until nothing is under way, and interrupts what still is. */
  readonly drain: (patience: number) => Effect.Effect<void>
}

export const makeSender = Effect.fnUntraced(function* ({
  buffer,
  giveBack,
  isVoid,
  maySend,
  outages,
  record,
  resume,
  tried
}: SenderOptions): Effect.fn.Return<Sender, never, DeliverySettings | Directory | Transport | Crypto> {
  const settings = yield* DeliverySettings
  const attempting = yield* makeAttempting
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<Crypto>())
  /** Attempts, and what is given back beside them. */
  const underWay = new Set<Fiber.Fiber<unknown>>()

  /** Gives back beside attempts: waited for like them when the engine closes. */
  const giveBackBeside = (giving: Effect.Effect<unknown>): void => {
    const fiber = run(giving)
    underWay.add(fiber)
    fiber.addObserver(() => underWay.delete(fiber))
  }

  /** When the lease of a delivery must not end before, if it is attempted now. */
  const neededUntil = (): number => clock.currentTimeMillisUnsafe() + settings.ackTimeout + settleBudget

  const mustTurnAway = (delivery: LeasedDelivery): boolean => isVoid(delivery) || delivery.lease.until < neededUntil()

  /** Gives back what must not be attempted under its lease. */
  const turnAway = (delivery: LeasedDelivery): Effect.Effect<Pace> =>
    Effect.suspend(() => {
      // Its receiver, or the directory, answers too slowly for what we hold of it.
      const others = isVoid(delivery) ? [] : buffer.removeLate(delivery.integration.id, neededUntil())
      return Effect.as(giveBack([delivery, ...others], clock.currentTimeMillisUnsafe()), null)
    })

  /** What could not be attempted, through no fault of its receiver, and is not given back yet. */
  const putOff: Array<LeasedDelivery> = []
  let gathering: Fiber.Fiber<void> | null = null

  const giveBackAll = Effect.delay(
    Effect.suspend(() => {
      gathering = null
      const now = clock.currentTimeMillisUnsafe()
      const byDueTime = new Map<number, Array<LeasedDelivery>>()
      for (const delivery of putOff.splice(0)) {
        const dueAt = outages.dueAt(ownerOf(delivery), now)
        const others = byDueTime.get(dueAt)
        if (others === undefined) byDueTime.set(dueAt, [delivery])
        else others.push(delivery)
      }
      return Effect.forEach(byDueTime, ([dueAt, deliveries]) => giveBack(deliveries, dueAt), { discard: true })
    }),
    gatherFor
  )

  /** Gives deliveries back, to wait a while, with all others that must wait at this moment. */
  const wait = (deliveries: ReadonlyArray<LeasedDelivery>): Effect.Effect<Pace> => {
    for (const delivery of deliveries) putOff.push(delivery)
    return Effect.as(Fiber.join((gathering ??= run(giveBackAll))), null)
  }

  /** Takes out what must wait during an outage. */
  const removeWaiting = (now: number): ReadonlyArray<LeasedDelivery> =>
    buffer.removeIf((held) => outages.mustWait(ownerOf(held), now))

  /** What a delivery needed is away. Told once, when it begins: all that is held of its owner waits with it, or all there is. */
  const heldUp = (
    delivery: LeasedDelivery,
    cause: OutageCause,
    error: DirectoryError | TransportUnavailable
  ): Effect.Effect<Pace> =>
    Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      const owner = ownerOf(delivery)
      const verdict = outages.failed(cause, owner, now)
      const others = outages.isOpen ? removeWaiting(now) : buffer.removeIf((held) => ownerOf(held) === owner)
      const waiting = Effect.suspend(() => wait([delivery, ...others]))
      if (verdict === "own") {
        const own = "The directory answers about other users, but not about its owner"
        return Effect.andThen(Effect.logWarning(`${named(delivery)} waits. ${own}. ${failureText(error)}`), waiting)
      }
      if (verdict !== "begins") return waiting
      const pace = `One is tried every ${retryLater / 1_000} s until it gets through`
      return Effect.andThen(Effect.logWarning(`All deliveries wait. ${pace}. ${failureText(error)}`), waiting)
    })

  let nextBusyReport = Number.NEGATIVE_INFINITY

  /** This process had too little left for a delivery: it and what else is held of its integration is due again in a while. */
  const crowdedOut = (delivery: LeasedDelivery, error: TransportBusy): Effect.Effect<Pace> =>
    Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      const waiting = wait([delivery, ...buffer.removeOf(delivery.integration.id)])
      // It had a place for as long as one that is slow.
      if (now < nextBusyReport) return Effect.as(waiting, "slow")
      nextBusyReport = now + busyReportEvery
      const text = `${named(delivery)} is tried again in ${retryLater / 1_000} s. ${error.message}`
      return Effect.as(Effect.andThen(Effect.logWarning(text), waiting), "slow")
    })

  /** What a delivery needed is there. */
  const passed = (cause: OutageCause, delivery: LeasedDelivery): void => {
    const lasted = outages.passed(cause, ownerOf(delivery), clock.currentTimeMillisUnsafe())
    if (lasted !== null) run(resume(cause, lasted))
  }

  const conclude = (delivery: LeasedDelivery, settlement: Settlement): Pace => {
    record({ delivery, settlement })
    return paceOf(settlement)
  }

  const attempt = (delivery: LeasedDelivery): Effect.Effect<Pace, never, Crypto> =>
    Effect.suspend(() => {
      if (mustTurnAway(delivery)) return turnAway(delivery)
      const expiry = attempting.expiry(delivery)
      if (expiry !== null) return Effect.succeed(conclude(delivery, expiry))
      return Effect.flatMap(attempting.ending(delivery), (ending) => {
        passed("directory", delivery)
        if (ending !== null) return Effect.succeed(conclude(delivery, ending))
        // Much can have happened while the directory was asked.
        if (mustTurnAway(delivery)) return turnAway(delivery)
        return Effect.map(attempting.make(delivery), (settlement) => {
          // An address that may not be sent to is refused before there is a request.
          if (settlement.attempt?.outcome !== "blocked_address") passed("egress", delivery)
          return conclude(delivery, settlement)
        })
      })
    }).pipe(
      Effect.catchTags({
        DirectoryError: (error) => heldUp(delivery, "directory", error),
        TransportUnavailable: (error) => heldUp(delivery, "egress", error),
        TransportBusy: (error) => crowdedOut(delivery, error)
      }),
      // A defect must not strand its delivery: it is given back and its cause is told.
      Effect.catchDefect((defect) =>
        Effect.andThen(
          tellDefect(`${named(delivery)} could not be attempted`, defect),
          Effect.suspend(() => wait([delivery]))
        )
      )
    )

  const start = (delivery: LeasedDelivery, isTry: boolean): void => {
    if (isTry) outages.beginTry(clock.currentTimeMillisUnsafe())
    const fiber = run(attempt(delivery))
    underWay.add(fiber)
    fiber.addObserver((exit) => {
      underWay.delete(fiber)
      if (isTry) outages.endTry()
      const surplus = buffer.answered(delivery, Exit.isSuccess(exit) ? exit.value : null)
      if (surplus.length > 0) giveBackBeside(giveBack(surplus, clock.currentTimeMillisUnsafe()))
      if (isTry) tried()
      pump()
    })
  }

  /** During an outage: settles what nobody needs to be asked about, and tries one of the others if it is time to. */
  const startOne = (): void => {
    for (const delivery of buffer.removeIf((held) => attempting.expiry(held) !== null)) {
      const settlement = attempting.expiry(delivery)
      if (settlement !== null) record({ delivery, settlement })
    }
    // Who was tried stays known until something is held of which all have failed.
    if (outages.isTrying || buffer.queued === 0) return
    const now = clock.currentTimeMillisUnsafe()
    const hasOthers = buffer.some((held) => !outages.hasFailed(ownerOf(held)))
    if (!hasOthers && outages.pausedUntil(now) === null) outages.beginRound()
    const waiting = removeWaiting(now)
    if (waiting.length > 0) giveBackBeside(wait(waiting))
    const delivery = buffer.next()
    if (delivery !== undefined) start(delivery, true)
  }

  /** Starts some of what has a place, and says whether there may be more. */
  const startSome = (which: "urgent" | "all"): boolean => {
    for (let started = 0; started < slice; started++) {
      if (!maySend()) return false
      if (outages.isOpen) {
        startOne()
        return false
      }
      const delivery = buffer.next(which)
      if (delivery === undefined) return false
      start(delivery, false)
    }
    return true
  }

  let isScheduled = false

  const nextTurn = Effect.andThen(
    Effect.yieldNow,
    Effect.sync(() => {
      isScheduled = false
      if (startSome("all")) pump()
    })
  )

  const pump = (): void => {
    if (isScheduled || buffer.queued === 0) return
    isScheduled = true
    run(nextTurn)
  }

  return {
    pump,
    pumpUrgent: () => {
      startSome("urgent")
      pump()
    },
    drain: (patience) =>
      Effect.suspend(() => Fiber.awaitAll([...underWay])).pipe(
        Effect.timeoutOption(patience),
        Effect.andThen(Effect.suspend(() => Fiber.interruptAll([...underWay])))
      )
  }
})
