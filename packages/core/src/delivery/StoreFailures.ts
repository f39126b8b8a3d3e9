/**
 * Store failures seen by a dispatcher, and when they began.
 */
import { Clock, Effect } from "effect"
import type { StoreError } from "../ports/StoreError.ts"

/** Returns the pause before the next store call after this many failures, in milliseconds. */
const pauseAfter = (refusals: number): number => Math.min(100 * 2 ** (refusals - 1), 2_000)

/**
 * Repeats a transaction until it succeeds, without a limit, and runs `refused` after each failure. Nearly all
 * transactions succeed immediately, so this function avoids a `Schedule`, whose setup takes longer than most
 * transactions.
 */
export const retryUntilAvailable = <A, R>(
  transaction: Effect.Effect<A, StoreError, R>,
  refused: (error: StoreError) => Effect.Effect<void> = () => Effect.void
): Effect.Effect<A, never, R> => {
  const asked = (refusals: number): Effect.Effect<A, never, R> =>
    Effect.catch(transaction, (error) =>
      refused(error).pipe(
        Effect.andThen(Effect.sleep(pauseAfter(refusals))),
        Effect.andThen(Effect.suspend(() => asked(refusals + 1)))
      )
    )
  return asked(1)
}

export type StoreOperation = "heartbeat" | "claim" | "settle"

export class StoreFailures {
  private readonly times = new Map<StoreOperation, number>()

  /** When the oldest current failure began, in milliseconds since the epoch; null if no operation fails. */
  get since(): number | null {
    return this.times.size === 0 ? null : Math.min(...this.times.values())
  }

  has(operation: StoreOperation): boolean {
    return this.times.has(operation)
  }

  /** Notes a success. */
  clear(operation: StoreOperation): void {
    this.times.delete(operation)
  }

  /** Notes and logs a failure. */
  note(operation: StoreOperation): (error: StoreError) => Effect.Effect<void> {
    return (error) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (!this.times.has(operation)) this.times.set(operation, now)
        return Effect.logWarning(error.message)
      })
  }
}
