/**
 * Cancels the active deliveries of a deleted or disabled integration at once: a row says that all up to an id are
 * cancelled, and the rows of the deliveries are moved later in batches (`stores/Cancellations`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const endings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`CREATE TABLE endings (
    integration_id bigint PRIMARY KEY,
    last_id bigint NOT NULL,
    reason text NOT NULL
  )`)
})
