/**
 * Inspects the configured database without changing it, and refuses a folder as a database file.
 */
import type { Inspection } from "@doorhook/sql"
import { DatabaseUnusable, SqliteInspection } from "@doorhook/sql"
import { Effect, Redacted } from "effect"
import { statSync } from "node:fs"
import * as Path from "node:path"
import { isPostgres } from "./Database.ts"

/** Fails if the path is a folder. Opening the file reports all other problems. */
export const checkNoFolder = (database: string): Effect.Effect<void, DatabaseUnusable> =>
  Effect.suspend(() =>
    statSync(database, { throwIfNoEntry: false })?.isDirectory() === true
      ? Effect.fail(
          new DatabaseUnusable({
            database,
            why: "cannot_open",
            explanation: `it is a folder. Name a file in it, like ${Path.join(database, "doorhook.db")}.`
          })
        )
      : Effect.void
  )

/** Returns the state of the database; null for a database in memory, which is always new. */
export const inspect = (database: string): Effect.Effect<Inspection | null, DatabaseUnusable> => {
  if (database === "memory") return Effect.succeed(null)
  if (!isPostgres(database)) return Effect.andThen(checkNoFolder(database), SqliteInspection.inspect(database))
  return Effect.flatMap(
    Effect.promise(() => import("@doorhook/sql/postgres")),
    ({ PostgresInspection }) => PostgresInspection.inspect({ url: Redacted.make(database) })
  )
}
