/**
 * Schedules work that blocks the event loop for about a millisecond, one piece per turn. Urgent work then waits for at
 * most one piece, however many clients request such work at the same time.
 */
import { Effect, Semaphore } from "effect"

/** One per process, because a process has one event loop. */
const turns = Semaphore.makeUnsafe(1)

/** Begins a piece of work in its own turn. Other pieces can run while it waits, for example for a server. */
export const inTurn = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.andThen(turns.withPermit(Effect.yieldNow), work)
