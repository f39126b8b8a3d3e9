/**
 * Store failures seen by a dispatcher, and when they began.
 */
import { Effect } from "effect"
import type { StoreError, StoreReason } from "../ports/StoreError.ts"
import { longestPause, proofCounts, refusalCounts } from "./EngineConstants.ts"

/** Returns the pause before the next store call after this many failures, in milliseconds. */
export const pauseAfter = (refusals: number): number => Math.min(100 * 2 ** (refusals - 1), longestPause)

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

/** What a process has seen of the store. */
export interface StoreStatus {
  /** The failure of heartbeats, claims, recordings or publications in the store; null if none of them fails. */
  readonly store_failure: StoreFailure | null
  /** Whether publications show that the store works: some were stored recently, and none was refused recently. */
  readonly store_proven: boolean
}

interface Failing extends StoreFailure {
  readonly last: number
}

export class StoreFailures {
  private readonly failing = new Map<StoreOperation, Failing>()
  private storedAt = Number.NEGATIVE_INFINITY
  private refusedAt = Number.NEGATIVE_INFINITY

  status(now: number): StoreStatus {
    const store_proven = now - this.storedAt < proofCounts && now - this.refusedAt > refusalCounts
    return { store_failure: this.current(now), store_proven }
  }

  /** Returns since when the store has failed, with the reason seen last. */
  private current(now: number): StoreFailure | null {
    const refused = this.failing.get("enqueue")
    if (refused !== undefined && now - refused.last > refusalCounts) this.failing.delete("enqueue")
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

  /** Notes the end of a publication. `error` is null if it was stored. */
  published(error: StoreError | null, now: number): void {
    if (error === null) {
      this.storedAt = now
      this.clear("enqueue")
    } else {
      this.refusedAt = now
      this.note("enqueue", error, now)
    }
  }

  /** Notes a failure. */
  note(operation: StoreOperation, error: StoreError, now: number): void {
    const since = this.failing.get(operation)?.since ?? now
    this.failing.set(operation, { since, last: now, reason: error.reason ?? null })
  }

  /** Notes and logs a failure at a time. */
  report(operation: StoreOperation, now: () => number): (error: StoreError) => Effect.Effect<void> {
    return (error) =>
      Effect.suspend(() => {
        this.note(operation, error, now())
        return Effect.logWarning(error.message)
      })
  }
}
