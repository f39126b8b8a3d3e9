/**
 * Locks on several integrations at once.
 *
 * They keep other transactions from looking at how an integration stands and fails, not from publishing to it: a host may
 * leave the transaction open in which it publishes, and no outcome of an attempt may wait for that. No transaction that has
 * one of these locks waits for a publication either: a lock that excludes publications is taken if it is free, or left for
 * later.
 *
 * No transaction waits for one integration while it has another, as others come to them in other orders: it gets all, or
 * gives back what it has, waits, and begins again.
 */
import type { IntegrationId } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import type { SubjectRow } from "../IntegrationRows.ts"
import type { Answer, Sql } from "./Moves.ts"
import { int8s } from "./PostgresDialect.ts"
import * as Statements from "./statements/DeliveryStatements.ts"

/** Takes a transaction back, and with it its locks. */
export class TakenBack extends Schema.TaggedError<TakenBack>()("TakenBack", {
  /** An integration that another transaction has locked, if that is why. */
  integration: Schema.NullOr(Schema.Int)
}) {}

/** Locks one integration, if it is there. Waits for it: the transaction must have no other. */
export const lockIntegration = (sql: Sql, id: number): Answer<void> =>
  Effect.asVoid(sql.unsafe(Statements.lockIntegration, [id]))

/** What settlements look at of an integration, and whether it is locked. */
export interface LockedRow extends SubjectRow {
  readonly locked: boolean
}

/**
 * Reads some integrations, and locks those of them for which something may follow: the suspects, and those for which
 * `isAffected` says so. Inside of `withLocks`, which begins again if one is not free.
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

/** Runs a transaction again and again until it is not taken back: until it has locked all its integrations, if it locks any. */
export const withLocks = <A>(sql: Sql, transaction: Effect.Effect<A, SqlError.SqlError | TakenBack>): Answer<A> =>
  Effect.catchTag(sql.withTransaction(transaction), "TakenBack", ({ integration }) => {
    const again = withLocks(sql, transaction)
    return integration === null ? again : Effect.andThen(sql.withTransaction(lockIntegration(sql, integration)), again)
  })
