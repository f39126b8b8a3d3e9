/**
 * Connects to a PostgreSQL database and migrates doorhook's schema to the current version.
 */
import { ResourceTypes, runForever } from "@doorhook/core"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgClients from "@effect/sql-pg/PgClient"
import type { Scope } from "effect"
import { Context, Effect, Layer, Option, Queue, Redacted, Result, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Applied, Migrations } from "../Migrations.ts"
import { appliedIn, newestOf, refusalOf, versionOf } from "../Migrations.ts"
import { PostgresMigrations, startAgain, table } from "./migrations/index.ts"
import { writeResourceTypes } from "./migrations/PublishFunction.ts"
import { types } from "./PostgresDialect.ts"
import { explain } from "./PostgresFailure.ts"
import * as PostgresUrl from "./PostgresUrl.ts"
import type { Route } from "./Route.ts"
import { addressOf, findRoute } from "./Route.ts"
import type { Link } from "./ServerConnection.ts"
import { connectServer } from "./ServerConnection.ts"
import { lockClasses, lockTables, migrationRow } from "./Primitives.ts"
import type { FoundServer } from "./ServerWatch.ts"
import { ServerWatch } from "./ServerWatch.ts"
import * as Switches from "./Switches.ts"
import { TransactionSettings } from "./TransactionSettings.ts"

export interface PostgresDatabaseConfig {
  /**
   * `postgres://user:password@host:port/database`, with libpq's parameters, as `PostgresUrl` reads it. A connection pooler
   * in between may use session or transaction mode.
   */
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

/**
 * Settings of each connection, in the units of `pg_settings`. Each statement is written for certain indexes. Sequential
 * scans are off, because PostgreSQL would choose them while a table is small, and keep the plan when the table has grown.
 * Time limits apply to locks, to statements and to open transactions of stopped processes. The TCP settings let the
 * server notice within 5 s that this machine has vanished, and end its transaction.
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
  lock_timeout: `${Math.min(5_000, timeout)}`,
  statement_timeout: `${timeout}`,
  idle_in_transaction_session_timeout: "5000",
  tcp_keepalives_idle: "3",
  tcp_keepalives_interval: "1",
  tcp_keepalives_count: "2",
  tcp_user_timeout: "5000"
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
    onSuccess: (read): Link => ({ url: read, patience: { millis: null }, watch: new ServerWatch(), last: null })
  })

/** Makes a client whose transactions have these settings. */
export const connect = (
  link: Link,
  maxConnections: number,
  { mode, settings }: Route
): Effect.Effect<PgClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> =>
  PgClients.make({
    ...addressOf(link),
    types,
    maxConnections,
    ...(mode === "direct"
      ? { startupParameters: settings }
      : {
          stream: () => connectServer(link, new TransactionSettings(settings)),
          // Behind a pooler, a name might be another session's statement.
          prepare: false
        })
  })

/** Describes a connection to another machine that is not encrypted; null for any other. */
export const exposureOf = ({ last }: Link): string | null => {
  if (last === null || last.isEncrypted || !last.isRemote) return null
  const why = last.failure === null ? "" : ` TLS failed: ${last.failure.message}.`
  return `not encrypted: passwords, tokens and events can be read on the way.${why} Use sslmode=verify-full and sslrootcert in the URL, and turn on ssl at the server.`
}

const warnIfExposed = (link: Link, name: string): Effect.Effect<void> => {
  const exposure = exposureOf(link)
  return exposure === null ? Effect.void : Effect.logWarning(`The connection to ${name} is ${exposure}`)
}

/** Returns the name of the server for wake signals, for messages. */
export const listenName = ({ url }: Link): string => `listen=${PostgresUrl.nameOf(url)}`

/** Reads which migrations ran; none without tables. */
export const appliedTo = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* sql.unsafe<{ readonly there: boolean }>(
    `SELECT to_regclass('${schema}.${table}') IS NOT NULL AS there`
  )
  return found?.there === true ? yield* sql.unsafe<Applied>(appliedIn(`${schema}.${table}`)) : []
})

const createSchema = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const schemas = yield* sql.unsafe(`SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`)
  if (schemas.length === 0) yield* sql.unsafe(`CREATE SCHEMA ${schema}`)
})

/** Waits until no other process migrates, and excludes others until the transaction ends. */
const lockMigrations = (sql: SqlClient.SqlClient, locks: Switches.Values["locks"]) =>
  sql.unsafe(locks === "rows" ? migrationRow : `SELECT pg_advisory_xact_lock(${lockClasses.migrations}, 0)`)

interface Migrating {
  readonly asked: PostgresUrl.Asked
  readonly database: string
  readonly locks: Switches.Values["locks"]
  readonly migrations: Migrations
}

/** Migrates in one transaction, and installs the functions. Other starting processes wait for it. */
const migrate = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient, { asked, database, locks, migrations }: Migrating) {
    // Migrations may take long, and other processes wait for the lock. Statements and lock waits therefore have no
    // timeout here.
    yield* sql.unsafe("SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)")
    yield* lockMigrations(sql, locks)
    yield* createSchema(sql)
    yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table }).pipe(
      Effect.provideService(SqlClient.SqlClient, sql)
    )
    return yield* Switches.install(sql, asked, database)
  },
  (effect, sql) => sql.withTransaction(effect)
)

/** Creates the schema and the table of locks. Several processes may do so at once, and all but one then fail. */
const prepareRows = (sql: SqlClient.SqlClient) =>
  createSchema(sql).pipe(
    Effect.andThen(Effect.forEach(lockTables, (statement) => sql.unsafe(statement))),
    Effect.retry({ times: 3, schedule: Schedule.spaced("100 millis") })
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

/** How often a transaction is repeated that the server ended because of a deadlock. */
const deadlockRetries = 8

/**
 * Makes a client wait for locked rows instead of skipping them. Transactions can then wait for each other. The server ends
 * one of them, which is repeated. A transaction inside another is not, because the outer one would keep its locks.
 */
const waitForLocks = (sql: PgClient): void => {
  const { unsafe, withTransaction } = sql
  const isDeadlock = (error: unknown): boolean => SqlError.isSqlError(error) && error.reason._tag === "DeadlockError"
  Object.assign(sql, {
    unsafe: (...[statement, ...rest]: Parameters<typeof unsafe>) => unsafe(Switches.withoutSkips(statement), ...rest),
    withTransaction: <R, E, A>(body: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Effect.serviceOption(sql.transactionService), (outer) =>
        Option.isSome(outer)
          ? withTransaction(body)
          : Effect.retry(withTransaction(body), { while: isDeadlock, times: deadlockRetries })
      )
  })
}

/** Time that a start waits for a read-only server, and that a check of the server may take, in milliseconds. */
const readOnlyPatience = 60_000
const checkPatience = 2_000

/** Shortest and longest time between two checks of the server, in milliseconds. */
const checkPause = 500
const checkInterval = 3_000

/** Asks the server of a connection who it is. */
export const serverOf = (sql: SqlClient.SqlClient) =>
  sql
    .unsafe<FoundServer>(
      `SELECT pg_postmaster_start_time() || ' ' || current_database() AS identity,
        pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "readOnly"`
    )
    .unprepared.pipe(
      Effect.flatMap(([state]) => (state === undefined ? Effect.die(new Error("no row")) : Effect.succeed(state)))
    )

/** Asks a server who it is, on a connection of its own, which may lead through a pooler. */
const askServer = (link: Link) =>
  Effect.scoped(Effect.flatMap(connect(link, 1, { mode: "direct", settings: {} }), serverOf))

/**
 * Waits until the server accepts changes. During a failover, the address may lead to a standby for a while, or to no
 * server at all.
 */
const awaitWritable = Effect.fnUntraced(function* (link: Link, database: string) {
  const state = yield* askServer(link)
  if (!state.readOnly) return state
  const unusable = (why: "refused" | "unreachable", explanation: string) =>
    new DatabaseUnusable({ database, why, explanation })
  const standby = unusable(
    "refused",
    "it is a standby or a read-only server. Give the address of the primary, or make the server accept changes (default_transaction_read_only)."
  )
  let problem = standby
  yield* Effect.logWarning(
    `${database} is a standby or a read-only server. Waiting up to ${readOnlyPatience / 1_000} s until it accepts changes or the address leads to the primary.`
  )
  return yield* Effect.sleep("1 second").pipe(
    Effect.andThen(Effect.mapError(askServer(link), (error) => explain(database, error))),
    Effect.timeoutOrElse({
      duration: 1_000 + checkPatience,
      orElse: () =>
        Effect.fail(unusable("unreachable", `the server does not answer within ${checkPatience / 1_000} s.`))
    }),
    Effect.filterOrFail(
      ({ readOnly }) => !readOnly,
      () => standby
    ),
    Effect.tapError((found) => {
      const isKnown = found.message === problem.message
      problem = found
      return isKnown ? Effect.void : Effect.logWarning(`Still waiting. ${found.message}`)
    }),
    Effect.eventually,
    Effect.timeoutOrElse({ duration: readOnlyPatience, orElse: () => Effect.fail(problem) })
  )
})

/**
 * Checks by new connections where the address leads, and ends connections that lead to another server. It also checks
 * without a doubt, because a former primary that nobody fenced still accepts changes, which are then lost.
 */
const followAddress = Effect.fnUntraced(function* (link: Link, first: FoundServer, database: string) {
  const { watch } = link
  const doubts = yield* Queue.sliding<void>(1)
  watch.begin(first, () => void Queue.offerUnsafe(doubts, undefined))
  let isReadOnly = false

  const check = Effect.suspend(() => {
    const askedAt = performance.now()
    // The check has a watch of its own, so it raises no doubts.
    const asked = askServer({ ...link, watch: new ServerWatch() }).pipe(Effect.timeout(checkPatience))
    return Effect.matchEffect(asked, {
      // The server does not answer new connections either, so ask again.
      onFailure: () => Queue.offer(doubts, undefined),
      onSuccess: (found) => {
        const isOther = watch.found(found, askedAt)
        const wasReadOnly = isReadOnly
        isReadOnly = watch.refusesChanges
        return Effect.gen(function* () {
          if (isOther)
            yield* Effect.logInfo(
              `${database} leads to another server now, or the server was restarted. Connecting again.`
            )
          if (isReadOnly) yield* Queue.offer(doubts, undefined)
          if (isReadOnly === wasReadOnly) return
          yield* isReadOnly
            ? Effect.logWarning(
                `${database} is a standby or a read-only server now. Connecting again until it accepts changes.`
              )
            : Effect.logInfo(`${database} accepts changes again.`)
        })
      }
    })
  })
  const step = Effect.timeoutOption(Queue.take(doubts), checkInterval).pipe(
    Effect.andThen(check),
    Effect.andThen(Effect.sleep(checkPause))
  )
  yield* Effect.forkScoped(runForever("Checking the database server", step))
})

/**
 * How a process receives wake signals: from the server, or by looking for changes, because the server has none or a
 * pooler in transaction mode does not forward them.
 */
export const WakeSource = Context.Reference<"server" | "polling">("@doorhook/sql/WakeSource", {
  defaultValue: () => "server"
})

export const wakeSourceOf = ({ url }: Link, { mode }: Route, { notify }: Switches.Values): "server" | "polling" =>
  notify === "off" || (mode === "transaction" && url.listen === null) ? "polling" : "server"

/**
 * Returns the link to the server that `listen` names, or null without one. Fails if that server can't be reached, is not
 * `own` and so has no wake signals about this database, or is behind a pooler that forwards none either.
 */
export const listenerOf = Effect.fnUntraced(function* (link: Link, own: FoundServer) {
  if (link.url.listen === null) return null
  const other: Link = { ...link, url: link.url.listen, last: null }
  const database = listenName(other)
  const refuse = (explanation: string) => new DatabaseUnusable({ database, why: "refused", explanation })
  const { mode } = yield* findRoute(other, {}).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(explain(database, error)))
  )
  if (mode === "transaction")
    return yield* refuse("a pooler in transaction mode forwards no wake signals. Give the URL of the server itself.")
  if ((yield* askServer(other)).identity === own.identity) return other
  return yield* refuse(
    "it leads to another server or database than the rest of the URL, so it has no wake signals about this one. Give the URL of the server and database that the pooler leads to."
  )
})

const open = Effect.fnUntraced(function* ({ maxConnections, timeout = defaultTimeout, url }: PostgresDatabaseConfig) {
  const link = yield* linkTo(url)
  const server = yield* awaitWritable(link, nameOf(url))
  const route = yield* findRoute(link, sessionOf(timeout))
  yield* warnIfExposed(link, nameOf(url))
  const sql = breakable(yield* connect(link, maxConnections ?? 10, route))
  const migrations = yield* PostgresMigrations
  const applied = yield* appliedTo(sql)
  const refusal = refusalOf(applied, migrations, startAgain)
  const database = nameOf(url)
  if (refusal !== null) return yield* new DatabaseUnusable({ database, ...refusal })
  const asked = link.url.switches
  const found = versionOf(applied) === 0 ? null : yield* Switches.stored(sql)
  let switches = Switches.merged(found, asked)
  if (versionOf(applied) < newestOf(migrations) || Switches.isOutdated(found, asked)) {
    if (switches.locks === "rows") yield* prepareRows(sql)
    switches = yield* migrate(sql, { asked, database, locks: found?.switches.locks ?? switches.locks, migrations })
  }
  if (switches.claim === "update") waitForLocks(sql)
  yield* writeResourceTypes(sql, yield* ResourceTypes, { isAgreed: false })
  link.patience.millis = timeout + silenceBeyond
  const listener = yield* listenerOf(link, server)
  if (listener !== null) {
    yield* warnIfExposed(listener, listenName(listener))
    const { listen } = yield* connect(listener, 1, { mode: "direct", settings: {} })
    Object.assign(sql, { listen })
  }
  yield* followAddress(link, server, nameOf(url))
  return Context.make(PgClients.PgClient, sql).pipe(
    Context.add(SqlClient.SqlClient, sql),
    Context.add(Switches.Switches, switches),
    Context.add(WakeSource, wakeSourceOf(link, route, switches))
  )
})

/** Connects to the database, migrates it and provides its clients. */
export const layer = (config: PostgresDatabaseConfig): Layer.Layer<PgClient | SqlClient.SqlClient, DatabaseUnusable> =>
  Layer.effectContext(
    open(config).pipe(
      Effect.mapError((error) => (error._tag === "DatabaseUnusable" ? error : explain(nameOf(config.url), error)))
    )
  ).pipe(Layer.provide(Reactivity.layer))
