/**
 * Connects to a PostgreSQL database and migrates doorhook's schema to the current version.
 */
import { ResourceTypes } from "@doorhook/core"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgClients from "@effect/sql-pg/PgClient"
import type { Scope } from "effect"
import { Effect, Layer, Redacted, Result } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import * as Migrations from "./migrations/index.ts"
import { writeResourceTypes } from "./migrations/PublishFunction.ts"
import { types } from "./PostgresDialect.ts"
import { explain } from "./PostgresFailure.ts"
import * as PostgresUrl from "./PostgresUrl.ts"
import type { Link } from "./ServerConnection.ts"
import { connectServer } from "./ServerConnection.ts"

export interface PostgresDatabaseConfig {
  /** `postgres://user:password@host:port/database`, with libpq's parameters, as `PostgresUrl` reads it. A connection pooler in between must use session mode. */
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
 * locks, to statements and to open transactions of stopped processes. The TCP settings let the server notice within 5 s
 * that this machine has vanished, and end its transaction. They have no effect on Unix sockets.
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
  idle_in_transaction_session_timeout: "5s",
  tcp_keepalives_idle: "3s",
  tcp_keepalives_interval: "1s",
  tcp_keepalives_count: "2",
  tcp_user_timeout: "5s"
})

export const session = sessionOf(defaultTimeout)

/** Returns the name of a database for messages: its address, without credentials. */
export const nameOf = (url: Redacted.Redacted<string>): string =>
  Result.match(PostgresUrl.parse(Redacted.value(url)), {
    onFailure: () => "the database",
    onSuccess: PostgresUrl.nameOf
  })

/** Reads the URL, and libpq's variables for encryption. */
export const linkTo = (url: Redacted.Redacted<string>): Effect.Effect<Link, DatabaseUnusable> =>
  Effect.mapBoth(PostgresUrl.read(url), {
    onFailure: ({ message }) => new DatabaseUnusable({ database: "the database", why: "failed", explanation: message }),
    onSuccess: (read): Link => ({ url: read, patience: { millis: null }, last: null })
  })

/** Makes a client whose connections have these settings. */
export const connect = (
  link: Link,
  maxConnections: number,
  startupParameters: Readonly<Record<string, string>>
): Effect.Effect<PgClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> => {
  const { applicationName, connectTimeout, database, host, options, password, port, user } = link.url
  return PgClients.make({
    host,
    port,
    applicationName,
    types,
    maxConnections,
    startupParameters,
    database: database ?? undefined,
    username: user ?? undefined,
    password: password ?? undefined,
    startupOptions: options ?? undefined,
    connectTimeout: connectTimeout ?? undefined,
    // The stream encrypts, and the client sees a plain connection.
    ssl: false,
    stream: () => connectServer(link)
  })
}

/** Describes a connection to another machine that is not encrypted; null for any other. */
export const exposureOf = ({ last }: Link): string | null => {
  if (last === null || last.isEncrypted || !last.isRemote) return null
  const why = last.failure === null ? "" : ` TLS failed: ${last.failure.message}.`
  return `not encrypted: passwords, tokens and events can be read on the way.${why} Use sslmode=verify-full and sslrootcert in the URL, and turn on ssl at the server.`
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
  const link = yield* linkTo(url)
  const session = sessionOf(timeout)
  const synchronous_commit = yield* Effect.scoped(Effect.flatMap(connect(link, 1, session), commitOf))
  const exposure = exposureOf(link)
  if (exposure !== null) yield* Effect.logWarning(`The connection to ${nameOf(url)} is ${exposure}`)
  const client = yield* connect(link, maxConnections ?? 10, { ...session, synchronous_commit })
  const sql = breakable(client)
  const version = yield* versionOf(sql)
  if (version > Migrations.newest) {
    const explanation = `a newer doorhook made its tables (version ${version}; this doorhook supports up to ${Migrations.newest}). Use the newer doorhook, or another database.`
    return yield* new DatabaseUnusable({ database: nameOf(url), why: "newer_version", explanation })
  }
  if (version < Migrations.newest) yield* migrate(sql)
  yield* writeResourceTypes(sql, yield* ResourceTypes)
  link.patience.millis = timeout + silenceBeyond
  return sql
})

/** Connects to the database, migrates it and provides its clients. */
export const layer = (config: PostgresDatabaseConfig): Layer.Layer<PgClient | SqlClient.SqlClient, DatabaseUnusable> =>
  PgClients.layerFrom(
    open(config).pipe(
      Effect.mapError((error) => (error._tag === "DatabaseUnusable" ? error : explain(nameOf(config.url), error)))
    )
  ).pipe(Layer.provide(Reactivity.layer))
