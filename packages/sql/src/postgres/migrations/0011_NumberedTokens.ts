/**
 * Numbers access tokens in the order of issue. The number is part of the token's text and is used to find its row, so
 * no index on hashes is needed. Purges delete from the start of the table, so no index on times is needed either.
 *
 * Tokens issued earlier stay valid until they expire. Their text has no number, so they are found by hash, through a
 * separate index that is empty within a day. The default of `has_number` is for processes of older versions that still
 * run: their tokens are stored without numbers, and all processes find them. Older processes don't find numbered tokens
 * and answer 401 until they are replaced.
 *
 * `refresh_access` lets the client refresh in one statement. It is a function because each statement of a function sees
 * what was committed before that statement, unlike the parts of a single statement.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Maximum number of access tokens that one refresh deletes. Matters only after the limit per grant was lowered. */
const maxEnded = 500

const statements: ReadonlyArray<string> = [
  "ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_pkey",
  // hash: of the random part of the text, or of the whole text if has_number is false. scope: null for the grant's scope.
  `ALTER TABLE access_tokens ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ADD COLUMN has_number boolean NOT NULL DEFAULT false, ADD COLUMN scope text`,
  "DROP INDEX access_tokens_by_expiry, access_tokens_by_age",
  "CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id, seq)",
  "CREATE INDEX access_tokens_without_number ON access_tokens (hash) WHERE NOT has_number"
]

/**
 * Like `TokenStore.refresh`. Also locks the grant, so that concurrent refreshes of one grant count its tokens
 * correctly.
 */
const refreshAccess = `CREATE FUNCTION refresh_access(
    presented text, refreshed_at bigint, most integer, new_hash text, new_created_at bigint, new_expires_at bigint,
    new_scope text, new_retires text, successor text, successor_created_at bigint
  ) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    its_grant text;
    its_seq bigint;
  BEGIN
    SELECT g.id INTO its_grant FROM refresh_tokens AS t JOIN grants AS g ON g.id = t.grant_id
      WHERE t.hash = presented AND t.retired_at IS NULL AND g.revoked_at IS NULL FOR UPDATE;
    IF its_grant IS NULL THEN
      RETURN NULL;
    END IF;
    DELETE FROM access_tokens WHERE seq IN (
      SELECT seq FROM access_tokens WHERE grant_id = its_grant ORDER BY seq DESC LIMIT ${maxEnded} OFFSET most - 1
    );
    INSERT INTO access_tokens (grant_id, hash, has_number, created_at, expires_at, scope, retires)
      VALUES (its_grant, new_hash, true, new_created_at, new_expires_at, new_scope, new_retires) RETURNING seq INTO its_seq;
    IF successor IS NOT NULL THEN
      UPDATE refresh_tokens SET rotated_at = refreshed_at WHERE hash = presented AND rotated_at IS NULL;
      INSERT INTO refresh_tokens (hash, grant_id, created_at) VALUES (successor, its_grant, successor_created_at);
    END IF;
    RETURN its_seq;
  END
$$`

export const numberedTokens = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
  yield* sql.unsafe(refreshAccess).unprepared
})
