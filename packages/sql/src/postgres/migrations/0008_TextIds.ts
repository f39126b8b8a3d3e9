/**
 * `doorhook.publish` also accepts ids of buildings and tenants as text, and makes event ids in the usual form.
 *
 * It also enters events into lists with their own time. It no longer fails on a damaged integration row: it stores the
 * delivery, as skipped if the bindings can't be read.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { isId, makeEventId, publishText } from "./PublishFunction.ts"

export const textIds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(isId).unprepared
  yield* sql.unsafe(makeEventId).unprepared
  const isBound = "binds(i.bindings, type)"
  yield* sql.unsafe(publishText({ create: "CREATE OR REPLACE FUNCTION", kept: "FOR KEY SHARE OF i", isBound }))
    .unprepared
})
