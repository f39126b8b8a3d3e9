/** Shows the progress of long work, and lets work finish after a signal to stop. */
import { terminalLine } from "@doorhook/core"
import { Cause, Console, Effect, Exit, Fiber } from "effect"
import type { Stdio, Terminal } from "effect"

/** Interval at which the line on a terminal is redrawn, and interval at which lines are printed to a file or a pipe. */
const terminalInterval = "250 millis"
const plainInterval = "10 seconds"

/**
 * Redraws one line on a terminal, or prints a new line at intervals to a file or a pipe. Never ends, so it must race
 * against the work. Clears the line on the terminal at the end.
 */
export const showProgress = Effect.fnUntraced(function* <E, R>(
  line: Effect.Effect<string, E, R>
): Effect.fn.Return<never, E, R | Stdio.Stdio | Terminal.Terminal> {
  const display = yield* terminalLine
  if (display === null) return yield* Effect.forever(Effect.delay(Effect.flatMap(line, Console.log), plainInterval))
  const draw = Effect.andThen(Effect.flatMap(line, display.draw), Effect.sleep(terminalInterval))
  return yield* Effect.ensuring(Effect.forever(draw), display.clear)
})

const signals = ["SIGINT", "SIGTERM"] as const

/**
 * Runs an effect. The next signal stops the effect, an interrupt does not. Returns whether a signal stopped it.
 */
export const untilSecondSignal = Effect.fnUntraced(function* <R>(effect: Effect.Effect<unknown, never, R>) {
  const fiber = yield* Effect.forkDetach(effect)
  let isSignalled = false
  const stop = () => {
    isSignalled = true
    fiber.interruptUnsafe()
  }
  for (const signal of signals) process.once(signal, stop)
  const exit = yield* Effect.uninterruptible(Fiber.await(fiber))
  for (const signal of signals) process.removeListener(signal, stop)
  if (Exit.isFailure(exit) && !(isSignalled && Cause.hasInterruptsOnly(exit.cause)))
    return yield* Effect.failCause(exit.cause)
  return isSignalled
})
