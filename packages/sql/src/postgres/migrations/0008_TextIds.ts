/**
 * `doorhook.publish` also accepts ids of buildings and tenants as text, and makes event ids in the usual form.
 *
 * The function also enters each event into the lists with the event's own time. A damaged integration row no longer
 * makes the function fail. The delivery is stored, as skipped if the bindings can't be read.
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
