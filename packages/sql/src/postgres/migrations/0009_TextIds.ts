/**
 * `doorhook.publish` takes ids of buildings and tenants as text too, and its event ids have the form of all others.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { isId, makeEventId, publishText } from "./PublishFunction.ts"

export const textIds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(isId).unprepared
  yield* sql.unsafe(makeEventId).unprepared
  yield* sql.unsafe(publishText("CREATE OR REPLACE FUNCTION", "FOR KEY SHARE")).unprepared
})
