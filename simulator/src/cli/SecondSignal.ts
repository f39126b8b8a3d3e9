/**
 * Waits for something although one was told to stop, until one is told again.
 */
import { Cause, Effect, Exit, Fiber } from "effect"

/** What tells a process to stop: Ctrl-C, and whoever watches over it. */
const signals = ["SIGINT", "SIGTERM"] as const

/** Does something that an interrupt does not end, but another signal does. Answers whether one did; dies as it does. */
export const untilToldAgain = Effect.fnUntraced(function* <R>(effect: Effect.Effect<unknown, never, R>) {
  const fiber = yield* Effect.forkDetach(effect)
  let isTold = false
  const told = () => {
    isTold = true
    fiber.interruptUnsafe()
  }
  for (const signal of signals) process.once(signal, told)
  const exit = yield* Effect.uninterruptible(Fiber.await(fiber))
  for (const signal of signals) process.removeListener(signal, told)
  if (Exit.isFailure(exit) && !(isTold && Cause.hasInterruptsOnly(exit.cause)))
    return yield* Effect.failCause(exit.cause)
  return isTold
})
