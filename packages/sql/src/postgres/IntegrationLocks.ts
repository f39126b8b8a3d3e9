/**
 * Locks on several integrations at once.
 *
 * They exclude other changes of an integration's status and failure state, but not publications. A host may publish in a
 * transaction that stays open, and settlements must not wait for it. A transaction with one of these locks does not wait
 * for publications either: it takes a lock that excludes them only if it is free, and otherwise does that part later.
 *
 * A transaction never waits for one integration while it has locked another, because others lock them in other orders. If
 * one is not free, the transaction rolls back, waits for it and starts again.
 */
import type { IntegrationId } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { SubjectRow } from "../IntegrationRows.ts"
import type { Answer, Sql } from "./Moves.ts"
import { int8s } from "./PostgresDialect.ts"
import * as Statements from "./statements/DeliveryStatements.ts"

/** Rolls a transaction back, to release its locks. */
export class TakenBack extends Schema.TaggedError<TakenBack>()("TakenBack", {
  /** The integration that another transaction has locked, if that is the reason. */
  integration: Schema.NullOr(Schema.Int)
}) {}

/** Locks one integration, if it exists. Waits for the lock, so the transaction must not have locked another. */
export const lockIntegration = (sql: Sql, id: number): Answer<void> =>
  Effect.asVoid(sql.unsafe(Statements.lockIntegration, [id]))

/** What settlements read of an integration, and whether it is locked. */
export interface LockedRow extends SubjectRow {
  readonly locked: boolean
}

/**
 * Reads integrations, and locks those that may be affected: the suspects, and those for which `isAffected` is true. Fails
 * with `TakenBack` if one of them is not free. Must run inside `withLocks`.
 */
export const lockSubjects = Effect.fnUntraced(function* (
  sql: Sql,
  ids: ReadonlyArray<IntegrationId>,
  suspects: ReadonlyArray<IntegrationId>,
  isAffected: (row: SubjectRow) => boolean
) {
  if (ids.length === 0) return []
  const rows = yield* sql.unsafe<LockedRow>(Statements.lockSubjects, [int8s(ids), int8s(suspects)])
  const busy = rows.find((row) => !row.locked && isAffected(row))
  return busy === undefined ? rows : yield* new TakenBack({ integration: busy.id })
})

/** Runs a transaction, and again each time it fails with `TakenBack`. */
export const withLocks = <A>(sql: Sql, transaction: Effect.Effect<A, SqlError.SqlError | TakenBack>): Answer<A> =>
  Effect.catchTag(sql.withTransaction(transaction), "TakenBack", ({ integration }) => {
    const again = withLocks(sql, transaction)
    return integration === null ? again : Effect.andThen(sql.withTransaction(lockIntegration(sql, integration)), again)
  })
