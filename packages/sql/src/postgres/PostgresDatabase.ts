/**
 * Connects to a PostgreSQL database and migrates doorhook's schema to the current version.
 */
import { ResourceTypes } from "@doorhook/core"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgClients from "@effect/sql-pg/PgClient"
import { Effect, Layer, Predicate, Redacted, Result } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlStateOf } from "../PublishRemedies.ts"
import * as Migrations from "./migrations/index.ts"
import { writeResourceTypes } from "./migrations/PublishFunction.ts"
import { types } from "./PostgresDialect.ts"
import * as PostgresUrl from "./PostgresUrl.ts"
import type { Patience } from "./WatchedSocket.ts"
import { connectWatched, endpointOf } from "./WatchedSocket.ts"

export interface PostgresDatabaseConfig {
  /** `postgres://user:password@host:port/database`. A connection pooler in between must use session mode. */
  readonly url: Redacted.Redacted<string>
  /** Maximum number of connections of this process, one of which listens for wake signals. Default 10. */
  readonly maxConnections?: number | undefined
  /**
   * Statement timeout in milliseconds. The server cancels longer statements. If the server sends nothing for another
   * second, the connection is closed. Default `defaultTimeout`.
   */
  readonly timeout?: number | undefined
}

/** Default statement timeout, in milliseconds. */
export const defaultTimeout = 15_000

/**
 * Time between the statement timeout and closing a silent connection, in milliseconds. It leaves time for the server's
 * own error, which is more useful.
 */
const silenceBeyond = 1_000

/** The schema that holds all of doorhook's tables and functions. */
export const schema = "doorhook"

/** Key of the lock held during migrations, so that several processes can start at once: "doorhook" in ASCII. */
const migrationLock = "7237125463862997867"

/**
 * Settings of each connection. Each statement is written for certain indexes. Sequential scans are off, because
 * PostgreSQL would choose them while a table is small, and keep the plan when the table has grown. Time limits apply to
 * locks, to statements and to open transactions of stopped processes.
 */
const sessionOf = (timeout: number): Readonly<Record<string, string>> => ({
  search_path: schema,
  default_transaction_isolation: "read committed",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  jit: "off",
  // Statements have the same plan for any number of rows, and planning takes longer than executing.
  plan_cache_mode: "force_generic_plan",
  lock_timeout: `${Math.min(5_000, timeout)}ms`,
  statement_timeout: `${timeout}ms`,
  idle_in_transaction_session_timeout: "30s"
})

export const session = sessionOf(defaultTimeout)

type Why = DatabaseUnusable["why"]

/** Returns the name of a database for messages: its address, without credentials. */
export const nameOf = (url: Redacted.Redacted<string>): string =>
  Result.match(PostgresUrl.parse(Redacted.value(url)), {
    onFailure: () => "the database",
    onSuccess: PostgresUrl.nameOf
  })

const explanationOf = ({ reason }: SqlError.SqlError): readonly [Why, string] => {
  const code = sqlStateOf(reason)
  const said = Predicate.isError(reason.cause) ? reason.cause.message : reason.message
  if (code === "3D000") {
    return ["unreachable", "the server has no such database. Create it first (CREATE DATABASE), or choose another."]
  }
  if (code.startsWith("28") || reason._tag === "AuthenticationError") {
    return ["refused", "the server refuses this user or password. Check both in the URL."]
  }
  if (code === "53300") return ["refused", "the server has no connection left. Raise its max_connections."]
  if (code === "42501") {
    return [
      "refused",
      `this user lacks a permission: ${said}. Allow it to create the schema ${schema}, or create the schema for it.`
    ]
  }
  if (code === "" || code.startsWith("08") || code === "57P03") {
    return ["unreachable", `can't connect (${said}). Check that the server runs and that host and port are right.`]
  }
  return ["failed", `PostgreSQL reports: ${said}`]
}

/** Converts a client error to one that explains the problem to an operator. */
export const explain = (database: string, error: SqlError.SqlError | Migrator.MigrationError): DatabaseUnusable => {
  const cause = error._tag === "SqlError" ? error : error.cause
  const [why, explanation] =
    cause instanceof SqlError.SqlError ? explanationOf(cause) : ["failed" as const, error.message]
  return new DatabaseUnusable({ database, why, explanation, cause: error })
}

/** Reads the version of the existing tables; 0 without tables. */
export const versionOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* sql.unsafe<{ readonly there: boolean }>(
    `SELECT to_regclass('${schema}.${Migrations.table}') IS NOT NULL AS there`
  )
  if (found?.there !== true) return 0
  const [row] = yield* sql.unsafe<{ readonly version: number | null }>(
    `SELECT max(migration_id) AS version FROM ${schema}.${Migrations.table}`
  )
  return row?.version ?? 0
})

/** Migrates in one transaction. Other starting processes wait for it. */
const migrate = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient) {
    // Migrations may take long, and other processes wait for the lock. Statements and lock waits therefore have no
    // timeout here.
    yield* sql.unsafe("SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)")
    yield* sql.unsafe(`SELECT pg_advisory_xact_lock(${migrationLock})`)
    const schemas = yield* sql.unsafe(`SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`)
    if (schemas.length === 0) yield* sql.unsafe(`CREATE SCHEMA ${schema}`)
    yield* Migrator.make({})({ loader: Migrations.loader, table: Migrations.table }).pipe(
      Effect.provideService(SqlClient.SqlClient, sql)
    )
  },
  (effect, sql) => sql.withTransaction(effect)
)

/**
 * Makes a transaction fail normally when its connection breaks. The client raises a defect, because it can't send the
 * rollback, and a defect would end callers that retry failures. The server rolls back when the connection breaks.
 */
const breakable = (sql: PgClient): PgClient => {
  const { withTransaction } = sql
  return Object.assign(sql, {
    withTransaction: <R, E, A>(body: Effect.Effect<A, E, R>) =>
      Effect.catchDefect(withTransaction(body), (defect) =>
        SqlError.isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect)
      )
  })
}

/**
 * Returns `synchronous_commit` for all connections. Replaces `off` (the setting of the server, database or role) by
 * `on`, so that commits wait for the disk. Keeps all other values, which wait at least for the server's own disk.
 */
const commitOf = (sql: SqlClient.SqlClient) =>
  Effect.map(sql.unsafe<{ readonly synchronous_commit: string }>("SHOW synchronous_commit"), ([row]) =>
    row === undefined || row.synchronous_commit === "off" ? "on" : row.synchronous_commit
  )

const open = Effect.fnUntraced(function* ({ maxConnections, timeout = defaultTimeout, url }: PostgresDatabaseConfig) {
  const patience: Patience = { millis: null }
  const connect = (connections: number, settings: Readonly<Record<string, string>>) =>
    PgClients.make({
      url,
      types,
      maxConnections: connections,
      applicationName: "doorhook",
      stream: () => connectWatched(endpointOf(Redacted.value(url)), patience),
      startupParameters: settings
    })
  const session = sessionOf(timeout)
  const synchronous_commit = yield* Effect.scoped(Effect.flatMap(connect(1, session), commitOf))
  const client = yield* connect(maxConnections ?? 10, { ...session, synchronous_commit })
  const sql = breakable(client)
  const version = yield* versionOf(sql)
  if (version > Migrations.newest) {
    const explanation = `a newer doorhook made its tables (version ${version}; this doorhook supports up to ${Migrations.newest}). Use the newer doorhook, or another database.`
    return yield* new DatabaseUnusable({ database: nameOf(url), why: "newer_version", explanation })
  }
  if (version < Migrations.newest) yield* migrate(sql)
  yield* writeResourceTypes(sql, yield* ResourceTypes)
  patience.millis = timeout + silenceBeyond
  return sql
})

/** Connects to the database, migrates it and provides its clients. */
export const layer = (config: PostgresDatabaseConfig): Layer.Layer<PgClient | SqlClient.SqlClient, DatabaseUnusable> =>
  PgClients.layerFrom(
    open(config).pipe(
      Effect.mapError((error) => (error._tag === "DatabaseUnusable" ? error : explain(nameOf(config.url), error)))
    )
  ).pipe(Layer.provide(Reactivity.layer))
