/**
 * The condition of a store as a whole, as opposed to failures of single operations.
 */
import { Context, Effect, Predicate, Schema } from "effect"
import type { StoreError } from "./StoreError.ts"

/** The database must be opened again, because its file was removed or replaced, or its log was lost. */
export class StoreLost extends Schema.TaggedError<StoreLost>()("StoreLost", { message: Schema.String }) {}

/** Whether an error was caused by a lost database. */
export const isStoreLost = (error: unknown): boolean => {
  let cause = error
  for (let depth = 0; depth < 10 && Predicate.hasProperty(cause, "cause"); depth++) cause = cause.cause
  return cause instanceof StoreLost
}

/** Health of the store. A store without this service counts as healthy. */
export const StoreHealth = Context.Reference<{
  /** Returns why the store currently refuses all changes, in a sentence for operators; null if it accepts changes. */
  readonly trouble: () => string | null
  /** Fails when the database must be opened again before anything can be stored or read. Never succeeds. */
  readonly lost: Effect.Effect<never, StoreLost>
  /** Writes like a publication, on new space of the disk, and removes what it wrote. */
  readonly probe: Effect.Effect<void, StoreError>
  /** The same for the database of clients and tokens, if that is another one. */
  readonly probeShared: Effect.Effect<void, StoreError>
}>("@doorhook/core/ports/StoreHealth", {
  defaultValue: () => ({ trouble: () => null, lost: Effect.never, probe: Effect.void, probeShared: Effect.void })
})
