/**
 * `doorhook.publish` no longer waits for a transaction that is changing an integration. It stores the delivery for the
 * integration as it was before the change; if the change ends the delivery, the next claim cancels it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { publishText } from "./PublishFunction.ts"

export const publishUnblocked = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const isBound = "binds(i.bindings, type, action)"
  yield* sql.unsafe(publishText({ create: "CREATE OR REPLACE FUNCTION", kept: "free", isBound })).unprepared
})
