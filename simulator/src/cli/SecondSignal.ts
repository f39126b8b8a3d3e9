/**
 * Waits for something although one was told to stop, until one is told again.
 */
import { Deferred, Effect, Fiber } from "effect"

/** Does something that an interrupt does not end, but another Ctrl-C does. */
export const untilToldAgain = Effect.fnUntraced(function* <R>(effect: Effect.Effect<unknown, never, R>) {
  const over = yield* Deferred.make<void>()
  const end = () => {
    Deferred.doneUnsafe(over, Effect.void)
  }
  const fiber = yield* Effect.forkDetach(effect)
  fiber.addObserver(end)
  process.once("SIGINT", end)
  yield* Effect.uninterruptible(Deferred.await(over))
  process.removeListener("SIGINT", end)
  yield* Fiber.interrupt(fiber)
})
