/**
 * Who publishes keeps the integrations only from being changed, no longer from noting how they fail: a host's transaction
 * that stays open holds up no delivery (`IntegrationLocks`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { isBoundStrictly, publishText } from "./PublishFunction.ts"

export const publishLock = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    publishText({ create: "CREATE OR REPLACE FUNCTION", kept: "FOR KEY SHARE OF i", isBound: isBoundStrictly })
  ).unprepared
})
