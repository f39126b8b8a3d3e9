/**
 * Whatever goes wrong in a database becomes the one error of the storage ports, which names the operation.
 */
import { KeyTaken, StoreError } from "@doorhook/core"
import { Effect, Predicate } from "effect"
import { SqlError } from "effect/sql"

/** Whether a connection broke while an answer was awaited, so that nobody can say what the server did. */
const isLostAnswer = (error: unknown): boolean =>
  error instanceof SqlError.SqlError &&
  error.reason._tag === "ConnectionError" &&
  error.reason.operation !== "connect" &&
  // A server that says what is wrong has changed nothing.
  !Predicate.hasProperty(error.reason.cause, "severity")

const storeError = (operation: string, cause: unknown): StoreError =>
  new StoreError({ operation, cause, ...(isLostAnswer(cause) && { outcome: "unknown" as const }) })

export const failAs =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError, R> =>
    Effect.mapError(self, (cause) => storeError(operation, cause))

/** The same of a call that may find its idempotency key taken, which is no failure of the database. */
export const failAsUnlessTaken =
  (operation: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StoreError | KeyTaken, R> =>
    Effect.mapError(self, (cause) => (cause instanceof KeyTaken ? cause : storeError(operation, cause)))
