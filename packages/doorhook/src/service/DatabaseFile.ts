/**
 * A folder in place of a database file: refused before anything is made beside it.
 */
import { DatabaseUnusable } from "@doorhook/sql"
import { Effect } from "effect"
import { statSync } from "node:fs"
import * as Path from "node:path"

/** Fails when there is a folder of that name. What else may be in the way is found out by opening it. */
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
