/**
 * Loops that run until their scope closes, and turns of the event loop.
 */
import { Effect, Latch, Option, Semaphore } from "effect"

/** Pause of a loop after a defect, in milliseconds. */
const defaultRest = 1_000

/** Logs a defect. Never fails, because a logger that throws must not end the loop. */
export const logDefect = (text: string, defect: unknown): Effect.Effect<void> =>
  Effect.catchDefect(Effect.logError(text, defect), () => Effect.void)

/**
 * Repeats a step forever. Each step must wait for something. A defect is logged, and the loop continues after `rest`
 * milliseconds.
 */
export const runForever = <R>(
  what: string,
  step: Effect.Effect<unknown, never, R>,
  rest = defaultRest
): Effect.Effect<never, never, R> =>
  Effect.forever(
    step.pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(logDefect(`${what} failed; it continues`, defect), Effect.sleep(rest))
      )
    ),
    // Each step waits anyway. An additional yield between steps would delay work that has arrived.
    { disableYield: true }
  )

// These are one per process, because a process has one event loop.
const turns = Semaphore.makeUnsafe(1)
const isCalm = Latch.makeUnsafe(true)
const urgentWork = new Set<object>()

/** Longest time for which urgent work delays a piece of other work, in milliseconds. */
const longestDelay = 5

/** Begins urgent work, which delays `inTurn` until the returned function is called. */
export const beginUrgent = (): (() => void) => {
  const work = {}
  urgentWork.add(work)
  isCalm.closeUnsafe()
  return () => {
    urgentWork.delete(work)
    if (urgentWork.size === 0) isCalm.openUnsafe()
  }
}

const awaitCalm = Effect.suspend(() =>
  urgentWork.size === 0
    ? Effect.void
    : Effect.map(Effect.timeoutOption(isCalm.await, longestDelay), (calm) => {
        // Work that takes long, or never ends because its process was torn down, delays only one piece.
        if (Option.isNone(calm)) urgentWork.clear()
      })
)

/**
 * Begins a piece of work that blocks the event loop for about a millisecond in its own turn, after urgent work that is
 * under way, but at most 5 ms later. Urgent work then waits for at most one piece, however many clients request such work
 * at the same time. Other pieces can run while it waits, for example for a server.
 */
export const inTurn = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.andThen(turns.withPermit(Effect.andThen(awaitCalm, Effect.yieldNow)), work)
