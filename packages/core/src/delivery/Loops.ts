/**
 * Loops that run until their scope closes.
 */
import { Effect } from "effect"

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
