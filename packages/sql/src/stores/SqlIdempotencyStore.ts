/**
 * Idempotency keys in a SQL database.
 */
import type { IdempotencyRecord } from "@doorhook/core"
import { IdempotencyStore } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { keyStatements } from "../statements/KeyStatements.ts"
import { failAs } from "../StoreFailure.ts"

const make = Effect.fnUntraced(function* (dialect: Dialect) {
  const sql = yield* SqlClient.SqlClient
  const statements = keyStatements(dialect)

  return IdempotencyStore.of({
    find: Effect.fnUntraced(function* (keys, now) {
      if (keys.length === 0) return []
      const found = yield* sql.unsafe<IdempotencyRecord>(statements.find, [dialect.texts(keys), now])
      // The commit of the stored answer may be very recent. The empty transaction waits until that commit is on disk.
      if (found.length > 0) yield* sql.withTransaction(Effect.void)
      return found
    }, failAs("IdempotencyStore.find")),
    purgeExpired: (now, limit) =>
      sql.unsafe(statements.purge, [now, limit]).pipe(
        Effect.map(({ length }) => length),
        failAs("IdempotencyStore.purgeExpired")
      )
  })
})

export const layer = (dialect: Dialect): Layer.Layer<IdempotencyStore, never, SqlClient.SqlClient> =>
  Layer.effect(IdempotencyStore, make(dialect))
