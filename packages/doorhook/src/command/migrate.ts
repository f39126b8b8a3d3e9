/**
 * `doorhook migrate`: upgrades the tables without serving, for deployments with a separate migration step.
 */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as Database from "../service/Database.ts"
import { makeFolder } from "../service/DatabaseFolder.ts"
import { inspect } from "../service/DatabaseInspection.ts"
import * as FileOwner from "../service/FileOwner.ts"
import { databaseFlags, deliveryConfigOf } from "./deliveryFlags.ts"

export const migrateCommand = Command.make(
  "migrate",
  databaseFlags,
  Effect.fnUntraced(function* (given) {
    const settings = yield* deliveryConfigOf(given)
    const name = settings.database ?? Database.defaultDatabase
    const before = yield* inspect(name)
    if (before === null) return yield* CommandFailure.usage("A database in memory has no tables to upgrade.")
    yield* makeFolder(settings)
    const { newest, version } = before
    const isUpgrade = version !== newest
    // An older service that still delivers from a SQLite file would fail on upgraded tables.
    const owner = isUpgrade ? FileOwner.layer(settings) : Layer.empty
    // Opening a database upgrades its tables.
    yield* Effect.scoped(Layer.build(Layer.provide(Database.layer(settings), owner)))
    yield* Console.log(
      isUpgrade
        ? `the tables now have version ${newest}; ${version === 0 ? "there were none" : `they had version ${version}`}`
        : `the tables already have version ${newest}`
    )
  })
).pipe(
  Command.withDescription("Create or upgrade the tables and exit; serve and worker do the same when they start"),
  Command.withExamples([
    {
      command: "doorhook migrate --database postgres://doorhook@db.internal/doorhook",
      description: "As a deployment step, run by a user who may change the schema"
    }
  ])
)
