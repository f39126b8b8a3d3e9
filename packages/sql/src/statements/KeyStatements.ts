/**
 * Statements on idempotency keys.
 */
import type { Dialect } from "../Dialect.ts"

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
