/**
 * Stores idempotency keys in the same transaction as the changes of their call.
 */
import type { IdempotencyRecord } from "@doorhook/core"
import { IdempotencyConflict } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { keyStatements } from "../statements/KeyStatements.ts"

/** Makes a function that stores keys. It fails if a key is in use, which rolls the transaction back. */
export const makeTakeKeys = (sql: SqlClient.SqlClient, dialect: Dialect) => {
  const { insert } = keyStatements(dialect)

  return Effect.fnUntraced(function* (keys: ReadonlyArray<IdempotencyRecord>) {
    if (keys.length === 0) return
    // Stores keys in a fixed order, so that calls with the same keys wait for each other instead of deadlocking.
    const unique = new Map(keys.map((key) => [key.key, key]))
    const sorted = [...unique.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const stored = new Set<string>()
    for (const { answer, created_at, expires_at, fingerprint, key } of sorted) {
      const rows = yield* sql.unsafe(insert, [key, fingerprint, answer, created_at, expires_at])
      if (rows.length > 0) stored.add(key)
    }
    const taken = keys.find(({ key }) => !stored.has(key))
    if (taken !== undefined) return yield* new IdempotencyConflict({ key: taken.key })
  })
}
