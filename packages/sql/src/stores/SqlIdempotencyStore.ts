/**
 * Idempotency keys in a SQL database.
 */
import type { RememberedRequest } from "@doorhook/core"
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
    find: (keys, now) =>
      keys.length === 0
        ? Effect.succeed([])
        : failAs("IdempotencyStore.find")(sql.unsafe<RememberedRequest>(statements.find, [dialect.texts(keys), now])),
    purgeExpired: (now, limit) =>
      sql.unsafe(statements.purge, [now, limit]).pipe(
        Effect.map(({ length }) => length),
        failAs("IdempotencyStore.purgeExpired")
      )
  })
})

export const layer = (dialect: Dialect): Layer.Layer<IdempotencyStore, never, SqlClient.SqlClient> =>
  Layer.effect(IdempotencyStore, make(dialect))
