/**
 * Locks on several integrations at once.
 *
 * There are two: one keeps others from looking at how an integration stands and fails, the other besides from publishing
 * to it, which a change of its status or version needs. A host may leave the transaction open in which it publishes: what
 * happens with every attempt must not wait for that, so only what may change an integration takes the second.
 *
 * A host that publishes events one after the other in a transaction of its own keeps the integrations that they go to, in
 * whatever order that is. So nobody else may wait for one integration while keeping another: all are taken, or none.
 */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { int8s } from "./PostgresDialect.ts"
import * as Statements from "./statements/DeliveryStatements.ts"

interface Row {
  readonly id: number
}

/** Takes a part of a transaction back, and with it the locks. */
class TakenBack extends Schema.TaggedError<TakenBack>()("TakenBack", {
  /** An integration that somebody else keeps, null when it is gone. */
  integration: Schema.NullOr(Schema.Int)
}) {}

type Sql = SqlClient.SqlClient
type Locking<A> = Effect.Effect<A, SqlError.SqlError>

/** Locks those that are free; answers one that is not. */
const lockFree = Effect.fnUntraced(function* (sql: Sql, statement: string, ids: ReadonlyArray<number>) {
  const free = ids.length === 0 ? [] : yield* sql.unsafe<Row>(statement, [int8s(ids)])
  const locked = new Set(free.map(({ id }) => id))
  return ids.find((id) => !locked.has(id))
})

/** Locks all, and answers null; or none, and answers one that is not free. */
const lockAll = (sql: Sql, ids: ReadonlyArray<number>, changing: ReadonlyArray<number>): Locking<number | null> =>
  Effect.gen(function* () {
    const integration =
      (yield* lockFree(sql, Statements.lockFreeIntegrations, ids)) ??
      (yield* lockFree(sql, Statements.lockFreeForChange, changing))
    if (integration !== undefined) return yield* new TakenBack({ integration })
    return null
  }).pipe(
    sql.withTransaction,
    Effect.catchTag("TakenBack", ({ integration }) => Effect.succeed(integration))
  )

/** Waits until an integration is free; says whether it is still there. */
const comesFree = (sql: Sql, id: number, statement: string): Locking<boolean> =>
  sql.unsafe<Row>(statement, [id]).pipe(
    Effect.flatMap((rows) => Effect.fail(new TakenBack({ integration: rows[0]?.id ?? null }))),
    sql.withTransaction,
    Effect.catchTag("TakenBack", ({ integration }) => Effect.succeed(integration !== null))
  )

/** Locks some integrations, those that are there, some of them for change. In a transaction. */
export const lockIntegrations = Effect.fnUntraced(function* (
  sql: Sql,
  wanted: ReadonlyArray<number>,
  changing: ReadonlyArray<number>
) {
  const statementOf = (id: number): string =>
    changing.includes(id) ? Statements.lockForChange : Statements.lockIntegration
  let ids = wanted
  while (ids.length > 1) {
    const there = new Set(ids)
    const kept = yield* lockAll(
      sql,
      ids,
      changing.filter((id) => there.has(id))
    )
    if (kept === null) return
    if (!(yield* comesFree(sql, kept, statementOf(kept)))) ids = ids.filter((id) => id !== kept)
  }
  for (const id of ids) yield* sql.unsafe(statementOf(id), [id])
})
