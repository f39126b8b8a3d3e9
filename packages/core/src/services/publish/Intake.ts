/**
 * Calls on their way to a transaction. Those that arrive while one is under way share the next; where many come one by one,
 * it waits a moment for more (`Gathering`). A call with an urgent event is in the first transaction that starts after it,
 * however many ordinary calls are queued: urgent calls have a queue without a bound and transactions of their own.
 */
import { Cause, Clock, Effect, Latch, Option, Queue } from "effect"
import type { NewEvent } from "../../domain/Event.ts"
import { definitionOf } from "../../domain/ResourceType.ts"
import { Gathering } from "./Gathering.ts"

/** A transaction takes no further call once it has so many events: more would hold up the calls behind it. */
const maxBatch = 250

/** With so many events a transaction is worth its sync, and waits for no more. */
const enough = 32

/** How many ordinary calls are queued before their callers wait to be let in. */
const maxWaiting = 4_096

interface Intake<Call> {
  /** Lets a call in: an urgent one at once, an ordinary one when there is room. False when it is closed. */
  readonly offer: (call: Call) => Effect.Effect<boolean>
  /** The calls of the next transaction, one at least. Ends when it is closed and everything was taken. */
  readonly takeBatch: Effect.Effect<ReadonlyArray<Call>, Cause.Done>
  /** Lets nothing more in. */
  readonly close: Effect.Effect<void>
}

interface Carrying {
  readonly events: ReadonlyArray<NewEvent>
}

const isUrgent = ({ events }: Carrying): boolean =>
  // All are looked at, so that an undeclared type is found also behind an urgent event.
  events.map((event) => definitionOf(event.resource_type).urgent).includes(true)

const countEvents = (calls: ReadonlyArray<Carrying>): number =>
  calls.reduce((sum, { events }) => sum + events.length, 0)

export const makeIntake = Effect.fnUntraced(function* <Call extends Carrying>() {
  /** Ordinary calls whose callers were let in, up to `maxWaiting`. */
  const calls = yield* Queue.bounded<Call, Cause.Done>(maxWaiting)
  const urgent: Array<Call> = []
  const ordinary: Array<Call> = []
  const clock = yield* Clock.Clock
  const gathering = new Gathering()
  /** Opens when a call comes in. */
  const arrival = yield* Latch.make(false)
  /** Open while there is something that a transaction should not wait with. */
  const hurry = yield* Latch.make(false)
  let isClosed = false

  const isEmpty = (): boolean => urgent.length + ordinary.length + Queue.sizeUnsafe(calls) === 0

  /** Takes in the ordinary calls that have come; says whether there were any. */
  const takeWaiting = Effect.suspend(() => {
    hurry.closeUnsafe()
    if (ordinary.length >= maxWaiting) return Effect.succeed(false)
    return Effect.map(Queue.clear(calls), (waiting) => {
      for (const call of waiting) ordinary.push(call)
      if (waiting.length > 0) gathering.arrived(waiting.length, clock.currentTimeMillisUnsafe())
      return waiting.length > 0
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
    while (isEmpty()) {
      if (isClosed) return yield* Cause.done()
      arrival.closeUnsafe()
      yield* arrival.await
      // Calls of one turn of the event loop come in together.
      yield* Effect.yieldNow
    }
    const first = yield* Queue.poll(calls)
    if (Option.isSome(first)) {
      ordinary.push(first.value)
      gathering.arrived(1, clock.currentTimeMillisUnsafe())
    }
    yield* takeWaiting
    const wait = gathering.wait(clock.currentTimeMillisUnsafe())
    if (wait > 0 && !mustNotWait()) yield* gather(wait)
  })

  return {
    offer: (call) =>
      Effect.suspend(() => {
        if (isClosed) return Effect.succeed(false)
        // Found out before it is in: an undeclared type is the caller's defect and fails no other call.
        const hurries = isUrgent(call)
        if (hurries) urgent.push(call)
        else if (!Queue.offerUnsafe(calls, call)) return Queue.offer(calls, call)
        arrival.openUnsafe()
        if (hurries || call.events.length >= enough) hurry.openUnsafe()
        return Effect.succeed(true)
      }),
    takeBatch: Effect.gen(function* () {
      if (urgent.length + ordinary.length === 0) yield* begin
      else yield* takeWaiting
      const first = urgent.length > 0 ? urgent : ordinary
      let count = 0
      for (let size = 0; count < first.length && size < maxBatch; count++) size += first[count]?.events.length ?? 0
      return first.splice(0, count)
    }),
    close: Effect.sync(() => {
      isClosed = true
      Queue.endUnsafe(calls)
      arrival.openUnsafe()
      hurry.openUnsafe()
    })
  } satisfies Intake<Call>
})
