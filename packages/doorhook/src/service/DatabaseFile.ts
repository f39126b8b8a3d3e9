/**
 * Refuses a folder as a database file before any file is created beside it.
 */
import { DatabaseUnusable } from "@doorhook/sql"
import { Effect } from "effect"
import { statSync } from "node:fs"
import * as Path from "node:path"

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
