/**
 * Idempotency keys in a SQL database. They are stored in the same transaction as the changes of their call.
 */
import type { IdempotencyRecord } from "@doorhook/core"
import { IdempotencyConflict, IdempotencyStore } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { failAs } from "../StoreFailure.ts"

export const keyStatements = ({ isOneOfTexts, lockFree, text }: Dialect) => ({
  /**
   * Stores a key that is free, which means missing or expired by `created_at`. Cost: one search by key. Returns the key
   * if it was stored.
   */
  insert: text(`INSERT INTO idempotency_keys (key, fingerprint, answer, created_at, expires_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, answer = excluded.answer,
      created_at = excluded.created_at, expires_at = excluded.expires_at
    WHERE idempotency_keys.expires_at <= excluded.created_at RETURNING key`),

  /** Selects the given keys that are stored and not expired. Cost: one search by key per row. */
  find: text(`SELECT key, fingerprint, answer, created_at, expires_at FROM idempotency_keys
    WHERE ${isOneOfTexts("key")} AND expires_at > ?`),

  /** Cost: the start of the index on expiry times, then one search by key per row. */
  purge: text(`DELETE FROM idempotency_keys
    WHERE key IN (SELECT key FROM idempotency_keys WHERE expires_at <= ? LIMIT ? ${lockFree}) RETURNING key`)
})

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
