/**
 * Weakens the lock of publications: it still excludes changes of an integration, but no longer updates of its failure
 * state. A host's open transaction no longer delays deliveries (`IntegrationLocks`).
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
