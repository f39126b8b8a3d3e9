/**
 * `doorhook migrate`: upgrades the tables without serving, for deployments with a separate migration step.
 */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Database from "../service/Database.ts"
import { makeFolder } from "../service/DatabaseFolder.ts"
import { inspect } from "../service/DatabaseInspection.ts"
import * as FileOwner from "../service/FileOwner.ts"
import { databaseFlags, deliveryConfigOf } from "./deliveryFlags.ts"
import { targetSide as openSide } from "./move.ts"

/** Highest first id. Numbers above it would lose their last digits in some calculations. */
const highestFirstId = 1e15

/** Numbers all new rows of a database from a number on. */
const numberFrom = Effect.fnUntraced(function* (database: string, first: number) {
  const side = yield* openSide(database)
  const reached = Math.max(...Object.values(yield* side.numbers))
  if (first <= reached || first > highestFirstId)
    return yield* CommandFailure.usage(
      `--first-id: must be above ${reached}, the highest number that the database has given, and at most ${highestFirstId}`
    )
  yield* side.startAt(first)
  yield* Console.log(`integrations, events and deliveries are numbered from ${first} now`)
}, Effect.scoped)

export const migrateCommand = Command.make(
  "migrate",
  {
    ...databaseFlags,
    firstId: Flag.Int("first-id").pipe(
      Flag.withDescription("Number all new rows from this number on, for a cell; while no process uses the database"),
      Flag.withMetavar("NUMBER"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ firstId, ...given }) {
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
    if (Option.isSome(firstId)) yield* numberFrom(name, firstId.value)
  })
).pipe(
  Command.withDescription("Create or upgrade the tables and exit; serve and worker do the same when they start"),
  Command.withExamples([
    {
      command: "doorhook migrate --database postgres://doorhook@db.internal/doorhook",
      description: "As a deployment step, run by a user who may change the schema"
    },
    {
      command: "doorhook migrate --first-id 1000000000000 --database postgres://doorhook@db2.internal/doorhook",
      description: "A second cell, to which buildings can move"
    }
  ])
)
