/**
 * Connects to a PostgreSQL database and brings doorhook's schema in it up to date.
 */
import { ResourceTypes } from "@doorhook/core"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgClients from "@effect/sql-pg/PgClient"
import { Effect, Layer, Predicate, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { sqlStateOf } from "../PublishRemedies.ts"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import * as Migrations from "./migrations/index.ts"
import { writeResourceTypes } from "./migrations/PublishFunction.ts"
import { types } from "./PostgresDialect.ts"
import type { Patience } from "./WatchedSocket.ts"
import { connectWatched, endpointOf } from "./WatchedSocket.ts"

export interface PostgresDatabaseConfig {
  /** `postgres://user:password@host:port/database`. A connection pooler between must work by session. */
  readonly url: Redacted.Redacted<string>
  /** The most connections of this process. One of them listens for wake signals. Default 10. */
  readonly maxConnections?: number | undefined
  /**
   * How long the server may take for a statement, in milliseconds: it cancels what takes longer, and one that says nothing
   * for a second more is given up. Default `defaultTimeout`.
   */
  readonly timeout?: number | undefined
}

/** How long the server may take for a statement, in milliseconds, unless it is told otherwise. */
export const defaultTimeout = 15_000

/** How much longer than a statement may take the server may say nothing, in milliseconds: what it says is better to know. */
const silenceBeyond = 1_000

/** Everything of doorhook's is in here. */
const schema = "doorhook"

/** Taken while the schema is brought up to date, so that several processes can start at once: «doorhook» in ASCII. */
const migrationLock = "7237125463862997867"

/**
 * Settings of each connection. The statements were written for certain indexes; a plan that was made for a small table
 * must not scan it when it has grown. Nobody waits for ever: not for a lock, not for a statement, and not for the locks
 * of a process that stopped in the middle of a transaction.
 */
const sessionOf = (timeout: number): Readonly<Record<string, string>> => ({
  search_path: schema,
  default_transaction_isolation: "read committed",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
  jit: "off",
  // Rows come as arrays: planning anew for each call takes longer than carrying it out.
  plan_cache_mode: "force_generic_plan",
  lock_timeout: `${Math.min(5_000, timeout)}ms`,
  statement_timeout: `${timeout}ms`,
  idle_in_transaction_session_timeout: "30s"
})

export const session = sessionOf(defaultTimeout)

type Why = DatabaseUnusable["why"]

/** What a database is called in messages: its address, without credentials. */
export const nameOf = (url: Redacted.Redacted<string>): string => {
  if (!URL.canParse(Redacted.value(url))) return "the database"
  const { host, pathname } = new URL(Redacted.value(url))
  return `postgres://${host}${pathname}`
}

const explanationOf = ({ reason }: SqlError.SqlError): readonly [Why, string] => {
  const code = sqlStateOf(reason)
  const said = Predicate.isError(reason.cause) ? reason.cause.message : reason.message
  if (code === "3D000") {
    return ["unreachable", "the server has no such database. Create it first (CREATE DATABASE), or name another."]
  }
  if (code.startsWith("28") || reason._tag === "AuthenticationError") {
    return ["refused", "the server refuses this user or password. Check both in the URL."]
  }
  if (code === "53300") return ["refused", "the server has no connection left. Raise its max_connections."]
  if (code === "42501") {
    return ["refused", `this user may not: ${said}. Let it create the schema ${schema}, or create that for it.`]
  }
  if (code === "" || code.startsWith("08") || code === "57P03") {
    return ["unreachable", `can't connect (${said}). Check that the server runs and that host and port are right.`]
  }
  return ["failed", `PostgreSQL says: ${said}`]
}

/** What an error of the client means for somebody who wants to use a database. */
export const explain = (database: string, error: SqlError.SqlError | Migrator.MigrationError): DatabaseUnusable => {
  const cause = error._tag === "SqlError" ? error : error.cause
  const [why, explanation] =
    cause instanceof SqlError.SqlError ? explanationOf(cause) : ["failed" as const, error.message]
  return new DatabaseUnusable({ database, why, explanation, cause: error })
}

/** The version of the tables that are there; 0 when there are none. */
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

/** In one transaction, which whoever else starts waits for. */
const migrate = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient) {
    // Whoever is first may have much to do, and the others wait for it.
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
 * With these transactions, one whose connection breaks fails. It can't be rolled back then and need not be; the client
 * takes that for a defect, which would end whoever tries again after failures.
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
 * The `synchronous_commit` that connections are opened with, so that nothing changes it for them. Where the server, the
 * database or the role says `off`, a commit would be answered for before it is on disk: then it is `on`. All other
 * values wait for the server's own disk at least, and stay as they are.
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
    const explanation = `a newer doorhook made its tables (version ${version}, this doorhook knows ${Migrations.newest}). Use that doorhook, or another database.`
    return yield* new DatabaseUnusable({ database: nameOf(url), why: "newer_version", explanation })
  }
  if (version < Migrations.newest) yield* migrate(sql)
  yield* writeResourceTypes(sql, yield* ResourceTypes)
  patience.millis = timeout + silenceBeyond
  return sql
})

/** The clients of a database that is reached and up to date. */
export const layer = (config: PostgresDatabaseConfig): Layer.Layer<PgClient | SqlClient.SqlClient, DatabaseUnusable> =>
  PgClients.layerFrom(
    open(config).pipe(
      Effect.mapError((error) => (error._tag === "DatabaseUnusable" ? error : explain(nameOf(config.url), error)))
    )
  ).pipe(Layer.provide(Reactivity.layer))
