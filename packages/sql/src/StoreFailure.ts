/**
 * Converts database failures to `StoreError`, which names the operation and gives advice.
 */
import { isStoreLost, IdempotencyConflict, StoreError } from "@doorhook/core"
import { Effect, Predicate } from "effect"
import { SqlError } from "effect/sql"

/** Whether the outcome is unknown because the connection broke before the answer arrived. */
const isLostAnswer = (error: unknown): boolean =>
  error instanceof SqlError.SqlError &&
  error.reason._tag === "ConnectionError" &&
  error.reason.operation !== "connect" &&
  // An error with a severity comes from the server itself, so nothing was changed.
  !Predicate.hasProperty(error.reason.cause, "severity")

/** Advice for a failure that the database did not report; undefined if there is none. */
export const adviceOn = (cause: unknown): string | undefined => {
  if (Predicate.isTagged(cause, "SchemaError"))
    return "a stored row is damaged or was changed by another program. Find the cause, then repair the row or restore a backup; trying again does not help."
  if (Predicate.isTagged(cause, "IntegrationUnreadable"))
    return "that row is damaged or was changed by another program. Repair it, delete the integration, or restore a backup; trying again does not help."
  if (Predicate.isTagged(cause, "SecretUnreadable"))
    return "start every process with that key, or make a new secret: npx doorhook portal rotate-secret."
  if (isStoreLost(cause)) return "this process can no longer use the database; the log says why."
  return undefined
}

/** Makes the error for a failed operation. `isBegun`: whether a part of the operation was carried out. */
export const storeErrorOf = (operation: string, cause: unknown, isBegun = false): StoreError => {
  const advice = adviceOn(cause)
  const outcome = isLostAnswer(cause) ? "unknown" : isBegun ? "begun" : undefined
  return new StoreError({
    operation,
    cause,
    ...(outcome !== undefined && { outcome }),
    ...(advice !== undefined && { advice })
  })
}

export const failAs =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapErrorEager(self, (cause) => storeErrorOf(operation, cause))

/** Like `failAs`, for a call with several transactions. `isBegun` returns whether one of them has committed. */
export const failAsBegun =
  (operation: string, isBegun: () => boolean) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapError(self, (cause) => storeErrorOf(operation, cause, isBegun()))

/** Like `failAs`, but does not convert `IdempotencyConflict`, which is not a database failure. */
export const failAsUnlessTaken =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError | IdempotencyConflict, R> =>
    Effect.mapError(self, (cause) => (cause instanceof IdempotencyConflict ? cause : storeErrorOf(operation, cause)))
