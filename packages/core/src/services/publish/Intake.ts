/**
 * Calls on their way to a transaction. Those that arrive while one is under way share the next; where many come one by one,
 * it waits a moment for more (`Gathering`). Calls that carry something urgent have transactions of their own, before all
 * others, and wait for nobody.
 */
import { Clock, Effect, Latch, Option, Queue } from "effect"
import type { Cause } from "effect"
import type { NewEvent } from "../../domain/Event.ts"
import { definitionOf } from "../../domain/ResourceType.ts"
import { Gathering } from "./Gathering.ts"

/** A transaction takes no further call once it has so many events: more would hold up the calls behind it. */
const maxBatch = 250

/** With so many events a transaction is worth its sync, and waits for no more. */
const enough = 32

/** How many calls may wait for their transaction; beyond it, callers wait to be let in. */
const maxWaiting = 4_096

interface Intake<Call> {
  /** Lets a call in, once there is room; false when it is closed. */
  readonly offer: (call: Call) => Effect.Effect<boolean>
  /** The calls of the next transaction, one at least. Ends when it is closed and everything was taken. */
  readonly takeBatch: Effect.Effect<ReadonlyArray<Call>, Cause.Done>
  /** Lets nothing more in. */
  readonly close: Effect.Effect<void>
}

interface Carrying {
  readonly events: ReadonlyArray<NewEvent>
}

type Urgency = "urgent" | "ordinary"

/** A call that is in. */
interface Waiting<Call> {
  readonly call: Call
  readonly urgency: Urgency
}

const urgencyOf = ({ events }: Carrying): Urgency =>
  // All are looked at, so that one of a type that there is not does not come in behind an urgent one.
  events.map((event) => definitionOf(event.resource_type).urgent).includes(true) ? "urgent" : "ordinary"

const countEvents = (calls: ReadonlyArray<Carrying>): number =>
  calls.reduce((sum, { events }) => sum + events.length, 0)

export const makeIntake = Effect.fnUntraced(function* <Call extends Carrying>() {
  const calls = yield* Queue.bounded<Waiting<Call>, Cause.Done>(maxWaiting)
  const urgent: Array<Call> = []
  const ordinary: Array<Call> = []
  const clock = yield* Clock.Clock
  const gathering = new Gathering()
  /** Open while there is something that a transaction should not wait with. */
  const hurry = yield* Latch.make(false)
  let isClosed = false

  const takeIn = ({ call, urgency }: Waiting<Call>): void => {
    ;(urgency === "urgent" ? urgent : ordinary).push(call)
  }

  /** Takes in all that has come; says whether there were ordinary calls. */
  const takeWaiting = Effect.suspend(() => {
    hurry.closeUnsafe()
    const before = ordinary.length
    if (before + urgent.length >= maxWaiting) return Effect.succeed(false)
    return Effect.map(Queue.clear(calls), (waiting) => {
      for (const call of waiting) takeIn(call)
      const came = ordinary.length - before
      if (came > 0) gathering.arrived(came, clock.currentTimeMillisUnsafe())
      return came > 0
    })
  })

  const mustNotWait = (): boolean => isClosed || urgent.length > 0 || countEvents(ordinary) >= enough

  /** Takes in who comes within a time; says whether anybody did, null where the transaction must wait no longer. */
  const waitFor = Effect.fnUntraced(function* (time: number) {
    const isHurried = Option.isSome(yield* Effect.timeoutOption(hurry.await, time))
    const came = yield* takeWaiting
    return isHurried || mustNotWait() ? null : came
  })

  const gather = Effect.fnUntraced(function* (wait: number) {
    if ((yield* waitFor(wait / 2)) === null) return
    const cameLate = yield* waitFor(wait / 2)
    if (cameLate !== null) gathering.waited(cameLate, clock.currentTimeMillisUnsafe())
  })

  const begin = Effect.gen(function* () {
    // The queue wakes us in the next turn of the event loop: calls of one turn come in together.
    const first = yield* Queue.take(calls)
    takeIn(first)
    if (first.urgency === "ordinary") gathering.arrived(1, clock.currentTimeMillisUnsafe())
    yield* takeWaiting
    const wait = gathering.wait(clock.currentTimeMillisUnsafe())
    if (wait > 0 && !mustNotWait()) yield* gather(wait)
  })

  return {
    offer: (call) =>
      Effect.suspend(() => {
        // Found out before it is in: a type that there is not is the caller's defect, and nobody else's.
        const urgency = urgencyOf(call)
        return Effect.map(Queue.offer(calls, { call, urgency }), (isIn) => {
          if (urgency === "urgent" || call.events.length >= enough) hurry.openUnsafe()
          return isIn
        })
      }),
    takeBatch: Effect.gen(function* () {
      if (urgent.length + ordinary.length === 0) yield* begin
      else yield* takeWaiting
      const first = urgent.length > 0 ? urgent : ordinary
      let count = 0
      for (let size = 0; count < first.length && size < maxBatch; count++) size += first[count]?.events.length ?? 0
      return first.splice(0, count)
    }),
    close: Effect.suspend(() => {
      isClosed = true
      hurry.openUnsafe()
      return Effect.asVoid(Queue.end(calls))
    })
  } satisfies Intake<Call>
})
