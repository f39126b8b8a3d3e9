/**
 * Access tokens are numbered in the order in which they are issued, and found by their number, which is in their text. The table is
 * appended to at one end and purged at the other: no index over hashes or times is written with each token.
 *
 * Tokens that were issued before stay valid until they expire. Their text has no number, so that they are found by their hash,
 * by an index that is for them alone and empties within a day. The default of `has_number` is for processes of older versions
 * that still run: what they issue is stored as tokens without numbers, which all processes find. They themselves don't find
 * tokens with numbers, and answer 401 to these until they are replaced.
 *
 * `refresh_access` refreshes in one statement of the client: each statement of a function sees what was committed before it, which
 * the parts of one statement do not.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** How many access tokens one refresh ends at most, where the limit was lowered. */
const maxEnded = 500

const statements: ReadonlyArray<string> = [
  "ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_pkey",
  // hash: of the random part of the text; of all of it where has_number is false. scope: null is that of the grant.
  `ALTER TABLE access_tokens ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ADD COLUMN has_number boolean NOT NULL DEFAULT false, ADD COLUMN scope text`,
  "DROP INDEX access_tokens_by_expiry, access_tokens_by_age",
  "CREATE INDEX access_tokens_by_grant ON access_tokens (grant_id, seq)",
  "CREATE INDEX access_tokens_without_number ON access_tokens (hash) WHERE NOT has_number"
]

/** As `TokenStore.refresh`. Keeps the grant too: refreshes of one grant take turns, so that none counts without the others. */
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
