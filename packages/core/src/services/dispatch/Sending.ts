/**
 * The sender: starts attempts from the buffer, in its order, as places come free.
 *
 * Each attempt is a fiber of its own. What happens once for each delivery is plain code here: no timer, no generator and
 * no bookkeeping that is not needed.
 */
import { Clock, Effect, Exit, Fiber } from "effect"
import type { LeasedDelivery } from "../../domain/Delivery.ts"
import { formatDeliveryId } from "../../domain/Ids.ts"
import type { Crypto } from "../../ports/Crypto.ts"
import type { Directory } from "../../ports/Directory.ts"
import type { Settlement } from "../../ports/DeliveryStore.ts"
import type { Transport } from "../../ports/Transport.ts"
import { shownHost } from "../../rules/UrlPolicy.ts"
import { DeliverySettings, settleBudget } from "../DeliverySettings.ts"
import { makeAttempting } from "./Attempting.ts"
import type { LaneBuffer, Pace } from "./LaneBuffer.ts"

/** How long a delivery waits that could not be attempted through no fault of its receiver, in milliseconds. */
const retryLater = 5_000

/**
 * How many attempts are started before others have their turn: a call is stored between two slices, not after all of
 * them.
 */
const slice = 16

/** A failure that took longer than this was a wait for the receiver, in milliseconds. */
const slowFailure = 1_000

const paceOf = ({ attempt }: Settlement): Pace => {
  if (attempt === null) return null
  if (attempt.outcome === "acknowledged") return "acknowledged"
  return attempt.duration_ms > slowFailure ? "slow" : null
}

/** What a delivery is called in a log. */
const named = ({ id, integration }: LeasedDelivery): string =>
  `${formatDeliveryId(id)} to integration ${integration.id} (${shownHost(integration.configuration.url)})`

/** How a delivery ended for now. */
export interface Outcome {
  readonly delivery: LeasedDelivery
  readonly settlement: Settlement
}

/** What the sender asks of the dispatcher around it. */
export interface SenderOptions {
  readonly buffer: LaneBuffer
  /** Whether anything may be sent now. */
  readonly maySend: () => boolean
  /** Whether what a delivery is to be sent to has changed since it was leased. */
  readonly isVoid: (delivery: LeasedDelivery) => boolean
  /** Gives deliveries back to the store unattempted, due at a time. */
  readonly giveBack: (deliveries: ReadonlyArray<LeasedDelivery>, dueAt: number) => Effect.Effect<void>
  readonly record: (outcome: Outcome) => void
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
  record
}: SenderOptions): Effect.fn.Return<Sender, never, DeliverySettings | Directory | Transport | Crypto> {
  const settings = yield* DeliverySettings
  const attempting = yield* makeAttempting
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<Crypto>())
  const underWay = new Set<Fiber.Fiber<Pace>>()

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

  /** What could not be attempted, through no fault of its receiver, waits a while. */
  const putOff = (delivery: LeasedDelivery, why: Effect.Effect<void>): Effect.Effect<Pace> =>
    Effect.andThen(
      why,
      Effect.suspend(() => Effect.as(giveBack([delivery], clock.currentTimeMillisUnsafe() + retryLater), null))
    )

  const attempt = (delivery: LeasedDelivery): Effect.Effect<Pace, never, Crypto> =>
    Effect.suspend(() => {
      if (mustTurnAway(delivery)) return turnAway(delivery)
      const conclude = (settlement: Settlement) =>
        Effect.sync(() => {
          record({ delivery, settlement })
          return paceOf(settlement)
        })
      return Effect.flatMap(attempting.ending(delivery), (ending) => {
        if (ending !== null) return conclude(ending)
        // Much can have happened while the directory was asked.
        if (mustTurnAway(delivery)) return turnAway(delivery)
        return Effect.flatMap(attempting.make(delivery), conclude)
      })
    }).pipe(
      Effect.catchTag(["DirectoryError", "TransportUnavailable"], (error) =>
        putOff(delivery, Effect.logWarning(`${named(delivery)} waits: ${error.message}`))
      ),
      // A defect must not strand its delivery: it is given back and its cause is told.
      Effect.catchDefect((defect) =>
        putOff(delivery, Effect.logError(`${named(delivery)} could not be attempted`, defect))
      )
    )

  const start = (delivery: LeasedDelivery): void => {
    const fiber = run(attempt(delivery))
    underWay.add(fiber)
    fiber.addObserver((exit) => {
      underWay.delete(fiber)
      const surplus = buffer.answered(delivery, Exit.isSuccess(exit) ? exit.value : null)
      if (surplus.length > 0) run(giveBack(surplus, clock.currentTimeMillisUnsafe()))
      pump()
    })
  }

  /** Starts some of what has a place, and says whether there may be more. */
  const startSome = (which: "urgent" | "all"): boolean => {
    for (let started = 0; started < slice; started++) {
      const delivery = maySend() ? buffer.next(which) : undefined
      if (delivery === undefined) return false
      start(delivery)
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
