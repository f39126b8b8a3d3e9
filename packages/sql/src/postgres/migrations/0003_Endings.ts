/**
 * An integration that takes no more ends what is active of it at once: all up to an id is cancelled. Where that is much, the
 * rows follow after, a few at a time, until then this says so (`stores/Cancellations`).
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
