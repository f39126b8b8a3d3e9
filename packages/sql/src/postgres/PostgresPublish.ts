/**
 * Publishes inside the caller's own `sql.withTransaction` of Effect SQL. The host's rows and doorhook's deliveries are
 * stored together or not at all.
 *
 * The client may be the host's own, connected to the same database. Without Effect, any client can call
 * `doorhook.publish(event)` in SQL (`migrations/PublishFunction`).
 */
import type { NewEvent, NotServed } from "@doorhook/core"
import { EventId, StoreError } from "@doorhook/core"
import { Effect, Option, Schema, String } from "effect"
import { SqlClient } from "effect/sql"
import { currentRole, notServed, publishCall, publishRemedyFor } from "../HostPublish.ts"
import { storeErrorOf } from "../StoreFailure.ts"

const decode = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ id: EventId, deliveries: Schema.Int })))

/** Fails a call outside a transaction, whose events could not be rolled back with the host's other changes. */
const outside = Effect.suspend(() =>
  Effect.fail(
    new StoreError({
      operation: "publish",
      cause: new Error("no transaction has begun on this client"),
      advice: "call publish inside sql.withTransaction, or use Publisher if you need no transaction of your own."
    })
  )
)

const refusalOf = (sql: SqlClient.SqlClient, cause: unknown): Effect.Effect<never, StoreError | NotServed> => {
  const elsewhere = notServed(cause)
  if (elsewhere !== undefined) return Effect.fail(elsewhere)
  const remedy = publishRemedyFor(cause)
  if (remedy === undefined) return Effect.fail(storeErrorOf("publish", cause))
  return sql.unsafe<{ readonly role: string }>(currentRole).pipe(
    Effect.mapError(() => storeErrorOf("publish", cause)),
    Effect.flatMap(([user]) =>
      Effect.fail(
        new StoreError({ operation: "publish", cause, advice: String.uncapitalize(remedy(user?.role ?? "the_user")) })
      )
    )
  )
}

/**
 * Stores events with their deliveries. Returns the id of each event and its number of deliveries. Fails outside a
 * transaction, and if another database is to serve a building, or serves it. After a failure the caller's transaction is
 * still usable, so a host that handles the error can continue.
 */
export const publish = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>) {
  const sql = yield* SqlClient.SqlClient
  if (Option.isNone(yield* Effect.serviceOption(sql.transactionService))) return yield* outside
  if (events.length === 0) return []
  const { text, values } = publishCall(events)
  return yield* sql.unsafe(text, values).pipe(
    Effect.flatMap(decode),
    // Nested, so a savepoint.
    sql.withTransaction,
    Effect.catch((cause) => refusalOf(sql, cause))
  )
})
