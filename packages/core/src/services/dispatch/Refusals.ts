/**
 * What the store refuses to do for a dispatcher, and since when.
 */
import { Clock, Effect } from "effect"
import type { StoreError } from "../../ports/StoreError.ts"

/** How long to wait before the store is asked again after so many refusals, in milliseconds. */
const pauseAfter = (refusals: number): number => Math.min(100 * 2 ** (refusals - 1), 2_000)

/**
 * Asks the store until it answers, for as long as it takes. Written out: a schedule costs more to set up than most
 * transactions, and nearly all of them need none.
 */
export const untilAnswered = <A, R>(transaction: Effect.Effect<A, StoreError, R>): Effect.Effect<A, never, R> => {
  const asked = (refusals: number): Effect.Effect<A, never, R> =>
    Effect.catch(transaction, () => Effect.andThen(Effect.sleep(pauseAfter(refusals)), asked(refusals + 1)))
  return asked(1)
}

export type StoreOperation = "beat" | "claim" | "settle"

export class Refusals {
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

  /** Notes and tells that it has not. */
  note(operation: StoreOperation): (error: StoreError) => Effect.Effect<void> {
    return (error) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (!this.times.has(operation)) this.times.set(operation, now)
        return Effect.logWarning(error.message)
      })
  }
}

/** How long a loop rests after a defect, in milliseconds. */
const rest = 1_000

/** Does something over and over that waits for something each time. A defect is told, and does not end it. */
export const lasting = <R>(what: string, step: Effect.Effect<unknown, never, R>): Effect.Effect<never, never, R> =>
  Effect.forever(
    step.pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(Effect.logError(`${what} failed; it goes on`, defect), Effect.sleep(rest))
      )
    ),
    // It waits anyway: a turn of the event loop between two rounds would only hold up what has come in meanwhile.
    { disableYield: true }
  )
