/**
 * Converts database failures to `StoreError`, which names the operation and gives advice.
 */
import { isStoreLost, IdempotencyConflict, StoreError } from "@doorhook/core"
import type { StoreReason } from "@doorhook/core"
import { Effect, Predicate } from "effect"
import { SqlError } from "effect/sql"
import { primaryResultCode } from "./sqlite/SqliteResult.ts"

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

/**
 * Returns the SQLSTATE of an error or of its causes, like `3D000`; empty if there is none. Every SQLSTATE has a digit,
 * unlike the code `EPIPE` of Node.js.
 */
export const sqlStateOf = (error: unknown): string => {
  for (let at = error; Predicate.isObject(at); at = Predicate.hasProperty(at, "cause") ? at.cause : undefined) {
    if (Predicate.hasProperty(at, "code") && typeof at.code === "string" && /^(?=.*\d)[0-9A-Z]{5}$/.test(at.code))
      return at.code
  }
  return ""
}

/** SQLSTATEs with which doorhook's own triggers refuse rows that are in another database, or on the way there. */
export const movedState = "MV001"
export const movingState = "MV002"

/** Reasons by SQLSTATE (PostgreSQL, Appendix A). */
const sqlStates: ReadonlyMap<string, StoreReason> = new Map([
  ["25006", "read_only"],
  ["53100", "disk_full"],
  ["53300", "too_many_connections"],
  ["55P03", "locked"],
  ["57P01", "unreachable"],
  ["57P02", "unreachable"],
  ["57P03", "unreachable"],
  ["58030", "io_error"],
  [movedState, "moved"],
  [movingState, "moved"],
  ["XX001", "damaged"],
  ["XX002", "damaged"]
])

/** Reasons by SQLite's primary result code (sqlite.org/rescode.html). */
const resultCodes: ReadonlyMap<number, StoreReason> = new Map([
  [5, "locked"],
  [6, "locked"],
  [8, "read_only"],
  [10, "io_error"],
  [11, "damaged"],
  [13, "disk_full"],
  [26, "damaged"]
])

/** Reasons by the code of an error of the operating system. */
const systemErrors: ReadonlyMap<unknown, StoreReason> = new Map([
  ["EACCES", "read_only"],
  ["EDQUOT", "disk_full"],
  ["EIO", "io_error"],
  ["ENOSPC", "disk_full"],
  ["EPERM", "read_only"],
  ["EROFS", "read_only"]
])

/** Returns the reason that the code of a database's error shows; undefined if it shows none. */
export const reasonOf = (cause: unknown): StoreReason | undefined => {
  const state = sqlStateOf(cause)
  if (state !== "") return sqlStates.get(state) ?? (state.startsWith("08") ? "unreachable" : undefined)
  if (!(cause instanceof SqlError.SqlError))
    return Predicate.hasProperty(cause, "code") ? systemErrors.get(cause.code) : undefined
  const code = primaryResultCode(cause.reason.cause)
  if (code !== 0) return resultCodes.get(code)
  return cause.reason._tag === "ConnectionError" ? "unreachable" : undefined
}

/** Makes the error for a failed operation. `isBegun`: whether a part of the operation was carried out. */
export const storeErrorOf = (operation: string, cause: unknown, isBegun = false): StoreError => {
  const advice = adviceOn(cause)
  const reason = reasonOf(cause)
  const outcome = isLostAnswer(cause) ? "unknown" : isBegun ? "begun" : undefined
  return new StoreError({
    operation,
    cause,
    ...(reason !== undefined && { reason }),
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
