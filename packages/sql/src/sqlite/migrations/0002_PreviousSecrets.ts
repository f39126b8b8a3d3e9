/**
 * Replaces the one previous secret by a JSON list. Each rotated secret keeps signing until its own time.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements: ReadonlyArray<string> = [
  `ALTER TABLE integrations ADD COLUMN previous_secrets TEXT NOT NULL DEFAULT '[]'`,
  `UPDATE integrations
    SET previous_secrets = json_array(json_object('secret', previous_secret, 'until', previous_secret_until))
    WHERE previous_secret IS NOT NULL`,
  `ALTER TABLE integrations DROP COLUMN previous_secret`,
  `ALTER TABLE integrations DROP COLUMN previous_secret_until`
]

export const previousSecrets = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
