/**
 * Adds an index to list and revoke the grants of a user.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const grantsByUser = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("CREATE INDEX grants_by_user ON grants (user_id, created_at) WHERE revoked_at IS NULL")
})
