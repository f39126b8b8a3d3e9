/**
 * Locks on several integrations at once.
 *
 * They keep others from looking at how an integration stands and fails, not from publishing to it: a host may leave the
 * transaction open in which it publishes, and what happens with every attempt must not wait for that. Nobody who keeps one
 * of these locks waits for who publishes either: what needs that is taken if it is free, or left for later.
 *
 * Nobody waits for one integration while keeping another, as others come to them in other orders: all are taken, or none.
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

/** Locks all, and answers null; or none, and answers one that is not free. */
const lockAll = (sql: Sql, ids: ReadonlyArray<number>): Locking<number | null> =>
  Effect.gen(function* () {
    const free = yield* sql.unsafe<Row>(Statements.lockFreeIntegrations, [int8s(ids)])
    const locked = new Set(free.map(({ id }) => id))
    const [integration] = ids.filter((id) => !locked.has(id))
    if (integration !== undefined) return yield* new TakenBack({ integration })
    return null
  }).pipe(
    sql.withTransaction,
    Effect.catchTag("TakenBack", ({ integration }) => Effect.succeed(integration))
  )

/** Waits until an integration is free; says whether it is still there. */
const comesFree = (sql: Sql, id: number): Locking<boolean> =>
  sql.unsafe<Row>(Statements.lockIntegration, [id]).pipe(
    Effect.flatMap((rows) => Effect.fail(new TakenBack({ integration: rows[0]?.id ?? null }))),
    sql.withTransaction,
    Effect.catchTag("TakenBack", ({ integration }) => Effect.succeed(integration !== null))
  )

/** Locks some integrations, those that are there. In a transaction. */
export const lockIntegrations = Effect.fnUntraced(function* (sql: Sql, wanted: ReadonlyArray<number>) {
  let ids = wanted
  while (ids.length > 1) {
    const kept = yield* lockAll(sql, ids)
    if (kept === null) return
    if (!(yield* comesFree(sql, kept))) ids = ids.filter((id) => id !== kept)
  }
  for (const id of ids) yield* sql.unsafe(Statements.lockIntegration, [id])
})
