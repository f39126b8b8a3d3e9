/**
 * Inspects the configured database without changing it.
 */
import { SqliteInspection } from "@doorhook/sql"
import type { DatabaseUnusable, Inspection } from "@doorhook/sql"
import { Effect, Redacted } from "effect"
import { isPostgres } from "./Database.ts"
import { checkNoFolder } from "./DatabaseFile.ts"

/** Returns the state of the database; null for a database in memory, which is always new. */
export const inspect = (database: string): Effect.Effect<Inspection | null, DatabaseUnusable> => {
  if (database === "memory") return Effect.succeed(null)
  if (!isPostgres(database)) return Effect.andThen(checkNoFolder(database), SqliteInspection.inspect(database))
  return Effect.flatMap(
    Effect.promise(() => import("@doorhook/sql/postgres")),
    ({ PostgresInspection }) => PostgresInspection.inspect({ url: Redacted.make(database) })
  )
}
