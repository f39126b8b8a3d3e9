/**
 * Store failures seen by a dispatcher, and when they began.
 */
import { Clock, Effect } from "effect"
import type { StoreError, StoreReason } from "../ports/StoreError.ts"

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

export type StoreOperation = "heartbeat" | "claim" | "settle" | "enqueue"

/** A failure of the store that lasts. All times are in milliseconds since the epoch. */
export interface StoreFailure {
  readonly since: number
  /** Null if the store's error does not show the reason. */
  readonly reason: StoreReason | null
}

/**
 * How long a failed publication counts if no other follows, in milliseconds. Publications come from outside, so after
 * this time the probe of the store decides. All other operations are repeated until they succeed.
 */
const publicationCounts = 10_000

interface Failing extends StoreFailure {
  readonly last: number
}

export class StoreFailures {
  private readonly failing = new Map<StoreOperation, Failing>()

  /** Returns since when the store has failed, with the reason seen last; null if no operation fails. */
  current(now: number): StoreFailure | null {
    const published = this.failing.get("enqueue")
    if (published !== undefined && now - published.last > publicationCounts) this.failing.delete("enqueue")
    const all = [...this.failing.values()].toSorted((one, other) => other.last - one.last)
    if (all.length === 0) return null
    const reason = all.find((each) => each.reason !== null)?.reason ?? null
    return { since: Math.min(...all.map(({ since }) => since)), reason }
  }

  has(operation: StoreOperation): boolean {
    return this.failing.has(operation)
  }

  /** Notes a success. */
  clear(operation: StoreOperation): void {
    this.failing.delete(operation)
  }

  /** Notes a failure. */
  note(operation: StoreOperation, error: StoreError, now: number): void {
    const since = this.failing.get(operation)?.since ?? now
    this.failing.set(operation, { since, last: now, reason: error.reason ?? null })
  }

  /** Notes and logs a failure. */
  report(operation: StoreOperation): (error: StoreError) => Effect.Effect<void> {
    return (error) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        this.note(operation, error, now)
        return Effect.logWarning(error.message)
      })
  }
}
