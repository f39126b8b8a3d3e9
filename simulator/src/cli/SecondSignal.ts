/**
 * Waits for something although one was told to stop, until one is told again.
 */
import { Deferred, Effect, Fiber } from "effect"

/** Does something that an interrupt does not end, but another Ctrl-C does. Answers whether one did. */
export const untilToldAgain = Effect.fnUntraced(function* <R>(effect: Effect.Effect<unknown, never, R>) {
  const over = yield* Deferred.make<void>()
  let isTold = false
  const end = () => {
    Deferred.doneUnsafe(over, Effect.void)
  }
  const told = () => {
    isTold = true
    end()
  }
  const fiber = yield* Effect.forkDetach(effect)
  fiber.addObserver(end)
  process.once("SIGINT", told)
  yield* Effect.uninterruptible(Deferred.await(over))
  process.removeListener("SIGINT", told)
  yield* Fiber.interrupt(fiber)
  return isTold
})
