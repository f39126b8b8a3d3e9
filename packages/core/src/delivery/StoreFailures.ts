/**
 * What the store fails to do for a dispatcher, and since when.
 */
import { Clock, Effect } from "effect"
import type { StoreError } from "../ports/StoreError.ts"

/** How long to wait before the next call of the store after this many refusals, in milliseconds. */
const pauseAfter = (refusals: number): number => Math.min(100 * 2 ** (refusals - 1), 2_000)

/**
 * Asks the store until it answers, for as long as it takes; `refused` comes after each refusal. Written out: a schedule
 * costs more to set up than most transactions, and nearly all of them need none.
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

  /** Since when the store refuses anything, in milliseconds since the epoch; null while it does not. */
  get since(): number | null {
    return this.times.size === 0 ? null : Math.min(...this.times.values())
  }

  has(operation: StoreOperation): boolean {
    return this.times.has(operation)
  }

  /** The store has done it. */
  clear(operation: StoreOperation): void {
    this.times.delete(operation)
  }

  /** Notes and logs that it has not. */
  note(operation: StoreOperation): (error: StoreError) => Effect.Effect<void> {
    return (error) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (!this.times.has(operation)) this.times.set(operation, now)
        return Effect.logWarning(error.message)
      })
  }
}
