/**
 * `doorhook move`: moves everything from one database to another, while the service runs until the last step.
 */
import { BuildingMoves, columns, CommandFailure, counted } from "@doorhook/core"
import type { BuildingSide, Progress } from "@doorhook/sql"
import { BuildingMove, DatabaseUnusable, Move, SqliteDatabase, SqliteMoveSide } from "@doorhook/sql"
import type { Scope } from "effect"
import { Console, Effect, Layer, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { isFile, isPostgres } from "../service/Database.ts"
import { makeFolder } from "../service/DatabaseFolder.ts"
import { inspect } from "../service/DatabaseInspection.ts"
import * as FileOwner from "../service/FileOwner.ts"
import { jsonFlag, printJson, printLine } from "./operatorApi.ts"

/** Time between two looks whether a file is free, in milliseconds. */
const lookEvery = 50

/** Waits until no process uses a file, and then keeps others from it until the scope is closed. */
const takeFile = Effect.fnUntraced(function* (
  database: string
): Effect.fn.Return<unknown, DatabaseUnusable, Scope.Scope> {
  const holder = yield* FileOwner.holderOf(database)
  if (holder !== null) {
    yield* Console.error(`Everything is copied that could be. Now stop the service: ${holder} uses ${database}.`)
    while ((yield* FileOwner.holderOf(database)) !== null) yield* Effect.sleep(lookEvery)
  }
  const loss = yield* FileOwner.lossOf(database)
  if (loss !== null) return yield* new DatabaseUnusable({ database, why: "failed", explanation: loss })
  return yield* Layer.build(FileOwner.layer({ database }))
})

const postgresSides = Effect.promise(() => import("@doorhook/sql/postgres"))

const sourceSide = (database: string): Effect.Effect<BuildingSide, DatabaseUnusable, Scope.Scope> =>
  isFile(database)
    ? SqliteMoveSide.make(database, "source", takeFile(database))
    : Effect.flatMap(postgresSides, ({ PostgresMoveSide }) => PostgresMoveSide.make(Redacted.make(database)))

/** Creates the tables of a target, and keeps other processes from a file until the scope is closed. */
export const targetSide = Effect.fnUntraced(function* (
  database: string
): Effect.fn.Return<BuildingSide, DatabaseUnusable, Scope.Scope> {
  if (isFile(database)) {
    yield* Layer.build(FileOwner.layer({ database }))
    yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ filename: database })))
    return yield* SqliteMoveSide.make(database, "target", Effect.void)
  }
  const { PostgresDatabase, PostgresMoveSide } = yield* postgresSides
  const url = Redacted.make(database)
  yield* Effect.scoped(Layer.build(PostgresDatabase.layer({ url })))
  return yield* PostgresMoveSide.make(url)
})

/** Fails unless the source has tables of the current version. */
const checkSource = Effect.fnUntraced(function* (database: string) {
  const found = yield* inspect(database)
  if (found === null || !found.exists)
    return yield* CommandFailure.usage(
      `--from: ${isPostgres(database) ? "the database" : database} has no doorhook tables. Name the database that the service uses.`
    )
  if (found.refusal !== null || found.version !== found.newest)
    return yield* CommandFailure.usage(
      `--from: the tables have version ${found.version}, and this doorhook ${found.newest}. Start the service with this doorhook first, or run doorhook migrate.`
    )
})

/** Prints each table once its copying begins, in each step. */
const reporter = () => {
  let last = ""
  return ({ step, table }: Progress): Effect.Effect<void> => {
    const line = `${step === "copying" ? "copying, while the service may run" : "last step"}: ${table}`
    if (line === last) return Effect.void
    last = line
    return Console.error(line)
  }
}

const side = (name: "from" | "to", description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withMetavar("PATH.db|postgres://..."))

const rangesFlag = (name: "buildings" | "tenants", description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withMetavar("1-500,700"), Flag.optional)

/** Reads the ranges of a flag; null if it is not given. `none` means no range. */
const rangesOf = Effect.fnUntraced(function* (flag: string, given: Option.Option<string>) {
  if (Option.isNone(given)) return null
  if (given.value === "none" && flag === "tenants") return []
  return yield* Effect.mapError(Effect.fromResult(BuildingMoves.parseRanges(given.value)), (flaw) =>
    CommandFailure.usage(`--${flag}: ${flaw}`)
  )
})

export const moveCommand = Command.make(
  "move",
  {
    from: side("from", "The database that the service uses now"),
    to: side("to", "The new database, which must be empty; with --buildings another one that may be in use"),
    buildings: rangesFlag("buildings", "Move only these buildings, to a cell that may have others"),
    tenants: rangesFlag("tenants", "Tenants of these buildings that no stored event names, or none"),
    json: jsonFlag("Print the tables as JSON")
  },
  Effect.fnUntraced(function* ({ from, json, to, ...only }) {
    const buildings = yield* rangesOf("buildings", only.buildings)
    const tenants = yield* rangesOf("tenants", only.tenants)
    if (buildings === null && tenants !== null) return yield* CommandFailure.usage("--tenants needs --buildings.")
    for (const [flag, database] of [
      ["from", from],
      ["to", to]
    ] as const)
      if (database === "memory") return yield* CommandFailure.usage(`--${flag}: a database in memory can't be moved.`)
    if (from === to) return yield* CommandFailure.usage("--from and --to are the same database.")
    yield* checkSource(from)
    yield* makeFolder({ database: to })
    const target = yield* targetSide(to)
    const source = yield* sourceSide(from)
    const started = performance.now()
    const counts = yield* buildings === null
      ? new Move(source, target, reporter()).run()
      : new BuildingMove(source, target, { buildings, tenants }, reporter()).run()
    const seconds = (performance.now() - started) / 1_000
    if (json) return yield* printJson({ tables: counts, seconds })
    const rows = counts.map(
      ({ rows: n, table, target: digest }) =>
        [table, counted(n, "row"), `sha256 ${digest.slice(0, 16)}, equal`] as const
    )
    for (const line of columns(rows)) yield* printLine(line)
    if (buildings !== null)
      return yield* printLine(
        `buildings ${BuildingMoves.rangesText(buildings)} moved in ${seconds.toFixed(1)} s. Send their requests and events to ${target.name} now; ${source.name} refuses them.`
      )
    yield* printLine(
      `moved in ${seconds.toFixed(1)} s. Start the service with --database ${isPostgres(to) ? "and the new URL" : to}; it refuses to start on ${source.name}.`
    )
  }, Effect.scoped)
).pipe(
  Command.withDescription("Move everything to another database: copies while the service runs, then stops it shortly"),
  Command.withExamples([
    {
      command: "doorhook move --from doorhook.db --to postgres://doorhook@db.internal/doorhook",
      description: "From a file to PostgreSQL; repeat it if it is interrupted"
    },
    {
      command:
        "doorhook move --buildings 1-500 --from postgres://doorhook@db1.internal/doorhook --to postgres://doorhook@db2.internal/doorhook",
      description: "Half of the buildings to a second cell, while both are in use"
    }
  ])
)
