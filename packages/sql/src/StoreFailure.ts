/**
 * Converts any database failure to `StoreError`, which names the operation and says what to do.
 */
import { isStoreLost, IdempotencyConflict, StoreError } from "@doorhook/core"
import { Effect, Predicate } from "effect"
import { SqlError } from "effect/sql"

/** Whether the connection broke before the answer came, so the outcome is unknown. */
const isLostAnswer = (error: unknown): boolean =>
  error instanceof SqlError.SqlError &&
  error.reason._tag === "ConnectionError" &&
  error.reason.operation !== "connect" &&
  // A server that reports an error has changed nothing.
  !Predicate.hasProperty(error.reason.cause, "severity")

/** What to do when stored data can't be read although the database works. */
export const adviceOn = (cause: unknown): string | undefined => {
  if (Predicate.isTagged(cause, "SchemaError"))
    return "a stored row is not as doorhook writes it. Find out what has changed it, and repair it or restore a backup; trying again does not help."
  if (Predicate.isTagged(cause, "IntegrationUnreadable"))
    return "another program has changed that row, or it is damaged. Repair it, delete the integration, or restore a backup; trying again does not help."
  if (Predicate.isTagged(cause, "SecretUnreadable"))
    return "start every process with that key, or make a new secret: npx doorhook portal rotate-secret."
  if (isStoreLost(cause)) return "this process can use the database no longer; see the log for why."
  return undefined
}

/** The error of an operation. `isBegun`: a part of it was carried out. */
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

/** The same, for a call with several transactions. `isBegun`: one of them has committed. */
export const failAsBegun =
  (operation: string, isBegun: () => boolean) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapError(self, (cause) => storeErrorOf(operation, cause, isBegun()))

/** The same, for a call that may fail with `IdempotencyConflict`, which is not a database failure. */
export const failAsUnlessTaken =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError | IdempotencyConflict, R> =>
    Effect.mapError(self, (cause) => (cause instanceof IdempotencyConflict ? cause : storeErrorOf(operation, cause)))
