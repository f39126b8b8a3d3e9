/**
 * Whatever goes wrong in a database becomes the one error of the storage ports, which names the operation and says what to
 * do.
 */
import { isStoreLost, IdempotencyConflict, StoreError } from "@doorhook/core"
import { Effect, Predicate } from "effect"
import { SqlError } from "effect/sql"

/** Whether a connection broke while an answer was awaited, so that nobody can say what the server did. */
const isLostAnswer = (error: unknown): boolean =>
  error instanceof SqlError.SqlError &&
  error.reason._tag === "ConnectionError" &&
  error.reason.operation !== "connect" &&
  // A server that says what is wrong has changed nothing.
  !Predicate.hasProperty(error.reason.cause, "severity")

/** What to do about something stored that can't be read: the database itself is well. */
export const adviceOn = (cause: unknown): string | undefined => {
  if (Predicate.isTagged(cause, "SchemaError"))
    return "a stored row is not as doorhook writes it. See what has changed it, and put it right or restore a backup; trying again does not help."
  if (Predicate.isTagged(cause, "IntegrationUnreadable"))
    return "something else than doorhook has changed that row, or it is damaged. Put it right, delete the integration, or restore a backup; trying again does not help."
  if (Predicate.isTagged(cause, "SecretUnreadable"))
    return "start every process with that key, or make another secret: npx doorhook portal rotate-secret."
  if (isStoreLost(cause)) return "nothing works in this process any more."
  return undefined
}

/** The error of an operation; `isBegun` where a part of it was carried out. */
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

/** The same of a call that is carried out in parts: whether one was when it failed. */
export const failAsBegun =
  (operation: string, isBegun: () => boolean) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapError(self, (cause) => storeErrorOf(operation, cause, isBegun()))

/** The same of a call that may find its idempotency key taken, which is no failure of the database. */
export const failAsUnlessTaken =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError | IdempotencyConflict, R> =>
    Effect.mapError(self, (cause) => (cause instanceof IdempotencyConflict ? cause : storeErrorOf(operation, cause)))
