/**
 * `refresh_access`, like `TokenStore.refresh`, in one round trip. Also locks the grant, so that concurrent refreshes of
 * one grant count its tokens correctly. It is a function because each statement of a function sees what was committed
 * before that statement, unlike the parts of a single statement.
 */

/** Maximum number of access tokens that one refresh deletes. Matters only after the limit per grant was lowered. */
const maxEnded = 500

/** The last parameter has a default, so that processes of an earlier version can call the function, too. */
export const refreshAccess = `CREATE OR REPLACE FUNCTION refresh_access(
    presented text, refreshed_at bigint, most integer, new_hash text, new_created_at bigint, new_expires_at bigint,
    new_scope text, new_retires text, successor text, successor_created_at bigint, new_resource text DEFAULT NULL
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
    INSERT INTO access_tokens (grant_id, hash, created_at, expires_at, scope, retires, resource)
      VALUES (its_grant, new_hash, new_created_at, new_expires_at, new_scope, new_retires, new_resource)
      RETURNING seq INTO its_seq;
    IF successor IS NULL THEN
      UPDATE refresh_tokens SET used_at = refreshed_at WHERE hash = presented;
    ELSE
      UPDATE refresh_tokens SET rotated_at = refreshed_at WHERE hash = presented AND rotated_at IS NULL;
      INSERT INTO refresh_tokens (hash, grant_id, created_at) VALUES (successor, its_grant, successor_created_at);
    END IF;
    RETURN its_seq;
  END
$$`
