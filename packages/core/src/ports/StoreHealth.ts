/**
 * What a store knows about its own condition, beside the failures of single operations.
 */
import { Context, Effect, Predicate, Schema } from "effect"

/** The database can't be used again before it is opened again: its file was removed or replaced, or its log was lost. */
export class StoreLost extends Schema.TaggedError<StoreLost>()("StoreLost", { message: Schema.String }) {}

/** Whether an error goes back to a database that is lost. */
export const isStoreLost = (error: unknown): boolean => {
  let cause = error
  for (let depth = 0; depth < 10 && Predicate.hasProperty(cause, "cause"); depth++) cause = cause.cause
  return cause instanceof StoreLost
}

/** A store that knows nothing of the kind is healthy. */
export const StoreHealth = Context.Reference<{
  /** Why the store refuses all changes now, in a sentence for operators; null while it takes them. */
  readonly trouble: () => string | null
  /** Fails when nothing can be stored or read any more until the database is opened again. Never succeeds. */
  readonly lost: Effect.Effect<never, StoreLost>
}>("@doorhook/core/ports/StoreHealth", { defaultValue: () => ({ trouble: () => null, lost: Effect.never }) })
