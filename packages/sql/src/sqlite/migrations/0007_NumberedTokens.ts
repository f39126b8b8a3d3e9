/**
 * Access tokens are numbered in the order in which they are issued, and found by their number, which is in their text. The table is
 * appended to at one end and purged at the other: no index over hashes or times is written with each token.
 *
 * Tokens that were issued before stay valid until they expire. Their text has no number, so that they are found by their hash,
 * by an index that is for them alone and empties within a day.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements: ReadonlyArray<string> = [
  "ALTER TABLE access_tokens RENAME TO former_access_tokens",
  "DROP INDEX access_tokens_by_expiry",
  "DROP INDEX access_tokens_by_age",
  // hash: of the random part of the text; of all of it where has_number is 0. scope: null is that of the grant. The grant is not
  // checked: one is deleted after its tokens only.
  `CREATE TABLE access_tokens (
    seq INTEGER PRIMARY KEY,
    grant_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    has_number INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    scope TEXT,
    retires TEXT
  ) STRICT`,
  `INSERT INTO access_tokens (grant_id, hash, has_number, created_at, expires_at, retires)
    SELECT grant_id, hash, 0, created_at, expires_at, retires FROM former_access_tokens ORDER BY expires_at, created_at`,
  "DROP TABLE former_access_tokens",
  // The number is the end of the index: tokens of a grant in the order of their age.
  "CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id)",
  "CREATE INDEX access_tokens_without_number ON access_tokens (hash) WHERE NOT has_number"
]

export const numberedTokens = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
