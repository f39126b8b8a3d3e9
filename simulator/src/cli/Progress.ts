/**
 * Shows how something that takes long is going, and waits although the process was signalled to stop.
 */
import { terminalLine } from "@doorhook/core"
import { Cause, Console, Effect, Exit, Fiber } from "effect"
import type { Stdio, Terminal } from "effect"

/** How often a terminal's line is drawn again, and a line is printed elsewhere. */
const terminalInterval = "250 millis"
const plainInterval = "10 seconds"

/**
 * One line that changes on a terminal; a plain line now and then where output goes to a file or a pipe. Never ends: race it
 * against what it shows. The terminal's line is gone afterwards.
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

/** Does something that an interrupt does not end, but another signal does. Returns whether one did. */
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
