/**
 * `doorhook migrate`: brings the tables up to date without serving, for deployments with a separate migration step.
 */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as Database from "../service/Database.ts"
import { makeFolder } from "../service/DatabaseFolder.ts"
import { inspect } from "../service/DatabaseInspection.ts"
import { databaseConfigOf, databaseFlags } from "./deliveryFlags.ts"

export const migrateCommand = Command.make(
  "migrate",
  databaseFlags,
  Effect.fnUntraced(function* (given) {
    const settings = yield* databaseConfigOf(given)
    const name = settings.database ?? Database.defaultDatabase
    const before = yield* inspect(name)
    if (before === null) return yield* CommandFailure.usage("A database in memory has nothing to bring up to date.")
    yield* makeFolder(settings)
    // Opening a database brings it up to date.
    yield* Effect.scoped(Layer.build(Database.layer(settings)))
    const { newest, version } = before
    yield* Console.log(
      version === newest
        ? `the tables are of version ${newest} already`
        : `the tables are of version ${newest} now; ${version === 0 ? "there were none" : `they were of ${version}`}`
    )
  })
).pipe(
  Command.withDescription(
    "Make the tables, or bring them up to date, and end: serve and worker do the same at their start"
  ),
  Command.withExamples([
    {
      command: "doorhook migrate --database postgres://doorhook@db.internal/doorhook",
      description: "As a step of a deployment, by a user who may change the schema"
    }
  ])
)
