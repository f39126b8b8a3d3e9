/**
 * Numbers access tokens in the order of issue. The number is part of the token's text and finds its row. The table is
 * appended to at one end and purged at the other, so no index over hashes or times is written with each token.
 *
 * Tokens issued before stay valid until they expire. Their text has no number, so they are found by hash, through an index
 * of their own that is empty within a day.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements: ReadonlyArray<string> = [
  "ALTER TABLE access_tokens RENAME TO former_access_tokens",
  "DROP INDEX access_tokens_by_expiry",
  "DROP INDEX access_tokens_by_age",
  // hash: of the random part of the text, or of the whole text if has_number is 0. scope: null for the grant's scope. The
  // grant needs no foreign key: it is deleted only after its tokens.
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
  // The index ends with the number, so the tokens of a grant are in order of age.
  "CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id)",
  "CREATE INDEX access_tokens_without_number ON access_tokens (hash) WHERE NOT has_number"
]

export const numberedTokens = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
