/**
 * Creates the missing folder of a database file. Prints the path of a new database, so that operators notice a mistyped
 * path.
 */
import { CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Path } from "effect"
import { defaultDatabase, isFile } from "./Database.ts"

export const makeFolder = Effect.fnUntraced(function* ({
  database = defaultDatabase
}: {
  readonly database?: string | undefined
}) {
  if (!isFile(database)) return
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = path.dirname(path.resolve(database))
  yield* Effect.gen(function* () {
    if ((yield* files.exists(database)) || (yield* files.exists(`${database}-wal`))) return
    const isNew = !(yield* files.exists(folder))
    if (isNew) yield* files.makeDirectory(folder, { recursive: true })
    yield* Console.log(`new database ${path.resolve(database)}${isNew ? "; its folder was created too" : ""}`)
  }).pipe(
    Effect.mapError(
      (error) =>
        new CommandFailure({
          message: `The folder ${folder} for the database can't be created: ${fileTrouble(error)}. Create it with write access for this user, or name another path with --database.`,
          exitCode: 1
        })
    )
  )
})
