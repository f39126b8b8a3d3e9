/**
 * Schedules work that blocks the event loop for about a millisecond: one piece in each turn. Urgent work then waits for one
 * piece at most, however many clients request such work at once.
 */
import { Effect, Semaphore } from "effect"

/** One for the process, which has one event loop. */
const turns = Semaphore.makeUnsafe(1)

/** Begins a piece of work in its own turn. While it waits, for example for a server, other pieces can run. */
export const inTurn = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.andThen(turns.withPermit(Effect.yieldNow), work)
