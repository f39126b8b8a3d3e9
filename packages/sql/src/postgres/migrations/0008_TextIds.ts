/**
 * `doorhook.publish` takes ids of buildings and tenants as text too, and its event ids have the form of all others.
 *
 * It dates the entries of lists as their events, and refuses nothing because of an integration whose row is damaged: what
 * that would get is stored for it, as skipped where its bindings can't be read.
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
