/**
 * Opens a database file, checks that it belongs to doorhook and is of a version that this doorhook knows, and migrates it.
 */
import { Context, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { accessSync, constants } from "node:fs"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Applied, Migrations } from "../Migrations.ts"
import { appliedIn, refusalOf } from "../Migrations.ts"
import { SqliteMigrations, startAgain, table } from "./migrations/index.ts"
import type { SqliteClientConfig } from "./SqliteClient.ts"
import * as SqliteClient from "./SqliteClient.ts"
import { dropLostFrames, flawOfLog, lossOfLog, makeFile } from "./SqliteFile.ts"
import { primaryResultCode } from "./SqliteResult.ts"

/** Identifies doorhook's files (`PRAGMA application_id`): "door" in ASCII. */
const applicationId = 0x646f6f72

type Why = DatabaseUnusable["why"]

/** Explanations of SQLite's primary result codes (sqlite.org/rescode.html) to operators. */
const explanations: ReadonlyMap<number, readonly [Why, string]> = new Map([
  [5, ["locked", "another process has it locked. Stop that process, or use another file."]],
  [6, ["locked", "another process has it locked. Stop that process, or use another file."]],
  [8, ["cannot_open", "it is read-only for this user. Grant write access to the file and its folder."]],
  [13, ["failed", "the disk is full. Free some space and start again; nothing was lost."]],
  [14, ["cannot_open", "it can't be opened. Check that its folder exists and that this user may write there."]],
  [11, ["failed", "the file is damaged. Restore it from a backup."]],
  [26, ["not_a_database", "it is not a SQLite database. Choose another path; doorhook creates missing files."]]
])

const explain = (filename: string, error: SqlError.SqlError): DatabaseUnusable => {
  const [why, explanation] = explanations.get(primaryResultCode(error.reason.cause)) ?? [
    "failed",
    `SQLite reports: ${String(error.reason.cause)}`
  ]
  return new DatabaseUnusable({ database: filename, why, explanation, cause: error })
}

const checkLog = ({ acceptLostFrames, filename }: SqliteClientConfig): Effect.Effect<void, DatabaseUnusable> =>
  Effect.suspend(() => {
    if (filename === ":memory:") return Effect.void
    const explanation = flawOfLog(filename) ?? lossOfLog(filename, acceptLostFrames)
    if (explanation !== null) return new DatabaseUnusable({ database: filename, why: "failed", explanation })
    if (acceptLostFrames === undefined || dropLostFrames(filename)) return Effect.void
    return Effect.logWarning(
      `--accept-lost-frames ${acceptLostFrames} (setting acceptLostFrames) has no effect: the log of ${filename} has lost no frames. Remove it, so that it can't accept a later loss.`
    )
  })

/** Creates a missing file, readable only by its owner because it will contain signing secrets. */
const create = (filename: string): Effect.Effect<void, DatabaseUnusable> =>
  filename === ":memory:"
    ? Effect.void
    : Effect.try({
        try: () => {
          makeFile(filename)
          accessSync(filename, constants.W_OK)
        },
        catch: (cause) =>
          new DatabaseUnusable({
            database: filename,
            why: "cannot_open",
            explanation:
              "it can't be opened for writing. Check that its folder exists and that this user may write there.",
            cause
          })
      })

const checkOwner = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, filename: string) {
  const [owner] = yield* sql.unsafe<{ readonly application_id: number }>("PRAGMA application_id")
  if (owner?.application_id === applicationId) return
  const tables = yield* sql.unsafe("SELECT name FROM sqlite_schema LIMIT 1")
  if (owner?.application_id !== 0 || tables.length > 0) {
    const explanation = "it belongs to another application. Choose another path; doorhook creates missing files."
    return yield* new DatabaseUnusable({ database: filename, why: "other_application", explanation })
  }
  yield* sql.unsafe(`PRAGMA application_id = ${applicationId}`)
})

const checkVersion = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, filename: string, migrations: Migrations) {
  const tables = yield* sql.unsafe("SELECT 1 FROM sqlite_schema WHERE name = ?", [table])
  if (tables.length === 0) return
  const refusal = refusalOf(yield* sql.unsafe<Applied>(appliedIn(table)), migrations, startAgain)
  if (refusal !== null) return yield* new DatabaseUnusable({ database: filename, ...refusal })
})

const open = Effect.fnUntraced(function* (config: SqliteClientConfig) {
  const { filename } = config
  yield* checkLog(config)
  yield* create(filename)
  const services = yield* SqliteClient.make(config)
  const sql = Context.get(services, SqlClient.SqlClient)
  yield* checkOwner(sql, filename)
  const migrations = yield* SqliteMigrations
  yield* checkVersion(sql, filename, migrations)
  yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table }).pipe(
    Effect.provideService(SqlClient.SqlClient, sql)
  )
  return services
})

/** Opens and migrates a file, and provides the services on it. */
export const layer = (config: SqliteClientConfig): Layer.Layer<SqliteClient.Services, DatabaseUnusable> =>
  Layer.effectContext(
    open(config).pipe(
      Effect.mapError((error) => {
        if (error._tag === "DatabaseUnusable") return error
        if (error._tag === "SqlError") return explain(config.filename, error)
        return error.cause instanceof SqlError.SqlError
          ? explain(config.filename, error.cause)
          : new DatabaseUnusable({ database: config.filename, why: "failed", explanation: error.message, cause: error })
      })
    )
  ).pipe(Layer.provide(Reactivity.layer))

/** Converts SQL errors of a layer over an opened file to `DatabaseUnusable`. */
export const orUnusable =
  (filename: string) =>
  <A, R>(layer: Layer.Layer<A, SqlError.SqlError, R>): Layer.Layer<A, DatabaseUnusable, R> =>
    Layer.catchTag(layer, "SqlError", (error) => Layer.effectContext(Effect.fail(explain(filename, error))))
