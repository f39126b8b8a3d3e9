/**
 * Work that keeps the event loop busy for about a millisecond takes turns: one piece in each turn of the loop. So what is
 * urgent waits for one piece at most, however many clients ask for such work at once.
 */
import { Effect, Semaphore } from "effect"

/** One for the process, as there is one loop. */
const turns = Semaphore.makeUnsafe(1)

/** Begins a piece of work in a turn of its own. What it waits for, like a server's answer, delays no other piece. */
export const inTurn = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.andThen(turns.withPermit(Effect.yieldNow), work)
