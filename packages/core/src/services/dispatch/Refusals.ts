/**
 * What the store refuses to do for a dispatcher, and since when.
 */
import { Clock, Effect, Schedule } from "effect"
import type { StoreError } from "../../ports/StoreError.ts"

/** How the store is tried again when it does not answer: for as long as it takes. */
export const storeRetry = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

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

/** Does something over and over. A defect is told, and does not end it. */
export const lasting = <R>(what: string, step: Effect.Effect<unknown, never, R>): Effect.Effect<never, never, R> =>
  Effect.forever(
    step.pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(Effect.logError(`${what} failed; it goes on`, defect), Effect.sleep(rest))
      )
    )
  )
