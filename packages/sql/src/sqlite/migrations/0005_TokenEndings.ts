/**
 * Adds indexes to purge tokens: rotated refresh tokens and revoked grants by time, and a grant's access tokens by age.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const tokenEndings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    "CREATE INDEX refresh_tokens_by_rotation ON refresh_tokens (rotated_at) WHERE rotated_at IS NOT NULL"
  )
  yield* sql.unsafe("CREATE INDEX grants_by_revocation ON grants (revoked_at) WHERE revoked_at IS NOT NULL")
  yield* sql.unsafe("CREATE INDEX access_tokens_by_age ON access_tokens (grant_id, created_at)")
  yield* sql.unsafe("DROP INDEX access_tokens_by_grant")
})
