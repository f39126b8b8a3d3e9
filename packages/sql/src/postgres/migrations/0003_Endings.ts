/**
 * Adds the table `endings`. A row cancels all active deliveries of a deleted or disabled integration up to an id, and
 * the rows of the deliveries are moved later in batches (`stores/Cancellations`).
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
