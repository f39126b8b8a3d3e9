/**
 * Locks on several integrations at once.
 *
 * These locks exclude other changes of an integration's status and failure state. They do not exclude publications: a
 * host may publish in a transaction that stays open, and settlements must not wait for that transaction. A transaction
 * with one of these locks takes the stronger lock, which excludes publications, only if it is free. Otherwise the
 * transaction postpones the part that needs the stronger lock.
 *
 * To avoid deadlocks, a transaction never waits for one integration while it has locked another. If an integration is
 * locked, the transaction rolls back, waits for that lock and starts again.
 */
import type { IntegrationId } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { SubjectRow } from "../IntegrationRows.ts"
import type { Answer, Sql } from "./Moves.ts"
import { int8s } from "./PostgresDialect.ts"
import * as Statements from "./statements/DeliveryStatements.ts"

/** Failure that rolls a transaction back to release its locks. */
export class TakenBack extends Schema.TaggedError<TakenBack>()("TakenBack", {
  /** The integration that another transaction has locked; null for another reason. */
  integration: Schema.NullOr(Schema.Int)
}) {}

/**
 * Locks one integration, if it exists. Waits for the lock, so the transaction must hold no other integration's lock.
 */
export const lockIntegration = (sql: Sql, id: number): Answer<void> =>
  Effect.asVoid(sql.unsafe(Statements.lockIntegration, [id]))

/** Columns of an integration that settlements read, and whether this transaction has locked its row. */
export interface LockedRow extends SubjectRow {
  readonly locked: boolean
}

/**
 * Reads integrations, and locks `suspects` and all integrations that are failing or disabled. Fails with `TakenBack` if
 * another transaction has locked an integration for which `isAffected` is true. Must run inside `withLocks`.
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

/** Runs a transaction, and repeats it whenever it fails with `TakenBack`. */
export const withLocks = <A>(sql: Sql, transaction: Effect.Effect<A, SqlError.SqlError | TakenBack>): Answer<A> =>
  Effect.catchTag(sql.withTransaction(transaction), "TakenBack", ({ integration }) => {
    const again = withLocks(sql, transaction)
    return integration === null ? again : Effect.andThen(sql.withTransaction(lockIntegration(sql, integration)), again)
  })
