/**
 * `doorhook move`: moves everything from one database to another, while the service runs until the last step.
 */
import { columns, CommandFailure, counted } from "@doorhook/core"
import type { MoveSide, Progress } from "@doorhook/sql"
import { DatabaseUnusable, Move, SqliteDatabase, SqliteMoveSide } from "@doorhook/sql"
import type { Scope } from "effect"
import { Console, Effect, Layer, Redacted } from "effect"
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

const sourceSide = (database: string): Effect.Effect<MoveSide, DatabaseUnusable, Scope.Scope> =>
  isFile(database)
    ? SqliteMoveSide.make(database, "source", takeFile(database))
    : Effect.flatMap(postgresSides, ({ PostgresMoveSide }) => PostgresMoveSide.make(Redacted.make(database)))

/** Creates the tables of a target, and keeps other processes from a file until the scope is closed. */
const targetSide = Effect.fnUntraced(function* (
  database: string
): Effect.fn.Return<MoveSide, DatabaseUnusable, Scope.Scope> {
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
    const line = `${step === "copying" ? "copying, while the service may run" : "comparing, the source is stopped"}: ${table}`
    if (line === last) return Effect.void
    last = line
    return Console.error(line)
  }
}

const side = (name: "from" | "to", description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withMetavar("PATH.db|postgres://..."))

export const moveCommand = Command.make(
  "move",
  {
    from: side("from", "The database that the service uses now"),
    to: side("to", "The new database, which must be empty"),
    json: jsonFlag("Print the tables as JSON")
  },
  Effect.fnUntraced(function* ({ from, json, to }) {
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
    const counts = yield* new Move(source, target, reporter()).run()
    const seconds = (performance.now() - started) / 1_000
    if (json) return yield* printJson({ tables: counts, seconds })
    const rows = counts.map(
      ({ rows: n, table, target: digest }) =>
        [table, counted(n, "row"), `sha256 ${digest.slice(0, 16)}, equal`] as const
    )
    for (const line of columns(rows)) yield* printLine(line)
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
    }
  ])
)
