/** Shows the progress of long work, and lets work finish after a signal to stop. */
import { terminalLine } from "@doorhook/core"
import { Cause, Console, Effect, Exit, Fiber } from "effect"
import type { Stdio, Terminal } from "effect"

/** Interval at which a terminal's line is redrawn, and at which a line is printed elsewhere. */
const terminalInterval = "250 millis"
const plainInterval = "10 seconds"

/**
 * Shows one line that is redrawn on a terminal, or prints a plain line now and then to a file or a pipe. Never ends:
 * race it against the work. Clears the terminal's line at the end.
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

/** Runs an effect that ends at the next signal, but not at an interrupt. Returns whether a signal ended it. */
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
