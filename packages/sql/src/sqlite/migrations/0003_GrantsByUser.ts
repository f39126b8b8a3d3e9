/**
 * What a user has granted is listed and ended by an index: so far grants were found by their tokens and by their clients.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const grantsByUser = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("CREATE INDEX grants_by_user ON grants (user_id, created_at) WHERE revoked_at IS NULL")
})
