/**
 * Looks at the database that a setting names, without changing it.
 */
import { SqliteInspection } from "@doorhook/sql"
import type { DatabaseUnusable, Inspection } from "@doorhook/sql"
import { Effect, Redacted } from "effect"
import { isPostgres } from "./Database.ts"

/** What there is; null of one in memory, which is new each time. */
export const inspect = (database: string): Effect.Effect<Inspection | null, DatabaseUnusable> => {
  if (database === "memory") return Effect.succeed(null)
  if (!isPostgres(database)) return SqliteInspection.inspect(database)
  return Effect.flatMap(
    Effect.promise(() => import("@doorhook/sql/postgres")),
    ({ PostgresInspection }) => PostgresInspection.inspect({ url: Redacted.make(database) })
  )
}
