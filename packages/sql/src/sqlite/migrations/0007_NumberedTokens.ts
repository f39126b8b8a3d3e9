/**
 * Numbers access tokens in the order of issue. The number is part of the token's text and is used to find its row, so
 * no index on hashes is needed. Purges delete from the start of the table, so no index on times is needed either.
 *
 * Tokens issued earlier stay valid until they expire. Their text has no number, so they are found by hash, through a
 * separate index that is empty within a day.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements: ReadonlyArray<string> = [
  "ALTER TABLE access_tokens RENAME TO former_access_tokens",
  "DROP INDEX access_tokens_by_expiry",
  "DROP INDEX access_tokens_by_age",
  // hash: of the random part of the text, or of the whole text if has_number is 0. scope: null for the grant's scope.
  // grant_id needs no foreign key, because a grant is deleted only after its tokens.
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
  // The index ends with the number, so it lists the tokens of a grant in order of age.
  "CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id)",
  "CREATE INDEX access_tokens_without_number ON access_tokens (hash) WHERE NOT has_number"
]

export const numberedTokens = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
