/**
 * Loops that go on for as long as their scope lives.
 */
import { Effect } from "effect"

/** How long a loop rests after a defect, in milliseconds. */
const defaultRest = 1_000

/** Tells of a defect. Never ends in one: a logger that throws must not end what goes on after a defect. */
export const logDefect = (text: string, defect: unknown): Effect.Effect<void> =>
  Effect.catchDefect(Effect.logError(text, defect), () => Effect.void)

/**
 * Does something over and over that waits for something each time. A defect is told, and does not end it: it goes on
 * after `rest` milliseconds.
 */
export const runForever = <R>(
  what: string,
  step: Effect.Effect<unknown, never, R>,
  rest = defaultRest
): Effect.Effect<never, never, R> =>
  Effect.forever(
    step.pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(logDefect(`${what} failed; it goes on`, defect), Effect.sleep(rest))
      )
    ),
    // It waits anyway: a turn of the event loop between two rounds would only hold up what has come in meanwhile.
    { disableYield: true }
  )
