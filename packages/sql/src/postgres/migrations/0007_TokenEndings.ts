/**
 * Adds indexes to purge tokens: rotated refresh tokens and revoked grants by time, and a grant's access tokens by age.
 *
 * Also adds `binds`, which reads an integration's bindings without failing on a damaged row. Migration 8 uses it in
 * `doorhook.publish`.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Whether bindings match, like core's `Matching`; null for text that doorhook has not written. */
const binds = `CREATE OR REPLACE FUNCTION binds(bindings text, type text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
  DECLARE
    binding jsonb;
    is_bound boolean := false;
  BEGIN
    FOR binding IN SELECT jsonb_array_elements(binds.bindings::jsonb) LOOP
      IF NOT coalesce(binding->'resource_type' IN ('"call"', '"access_log"')
        AND jsonb_typeof(binding->'actions') = 'array' AND binding->'actions' <@ '["create"]', false) THEN
        RETURN NULL;
      END IF;
      is_bound := is_bound OR (binding->>'resource_type' = binds.type AND binding->'actions' ? 'create');
    END LOOP;
    RETURN is_bound;
  EXCEPTION WHEN data_exception THEN
    RETURN NULL;
  END
$$`

export const tokenEndings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Takes locks in the order of older processes: access tokens before refresh tokens. The strongest lock comes first,
  // because upgrading a lock can deadlock.
  yield* sql.unsafe("DROP INDEX access_tokens_by_grant")
  yield* sql.unsafe("CREATE INDEX access_tokens_by_age ON access_tokens (grant_id, created_at)")
  yield* sql.unsafe(
    "CREATE INDEX refresh_tokens_by_rotation ON refresh_tokens (rotated_at) WHERE rotated_at IS NOT NULL"
  )
  yield* sql.unsafe("CREATE INDEX grants_by_revocation ON grants (revoked_at) WHERE revoked_at IS NOT NULL")
  yield* sql.unsafe(binds).unprepared
})
