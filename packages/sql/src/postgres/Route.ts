/**
 * Finds out whether a connection leads to the server itself or to a pooler, and in which mode the pooler is.
 *
 * A pooler refuses or ignores the settings of a new session, or reports another process than the server does. In
 * transaction mode, sessions share the server's processes.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import type { Scope } from "effect"
import { Effect, Option, Predicate, Record, Result } from "effect"
import type { SqlError } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import * as PostgresUrl from "./PostgresUrl.ts"
import type { Link } from "./ServerConnection.ts"
import { connectServer } from "./ServerConnection.ts"

type Settings = Readonly<Record<string, string>>

/** How statements reach the server, and the settings of their transactions. */
export interface Route {
  /** `session` and `transaction`: through a pooler in that mode. */
  readonly mode: "direct" | "session" | "transaction"
  readonly settings: Settings
}

/** Returns the options of a connection, without settings. */
export const addressOf = (link: Link) => {
  const { applicationName, connectTimeout, database, host, options, password, port, user } = link.url
  return {
    host,
    port,
    applicationName,
    database: database ?? undefined,
    username: user ?? undefined,
    password: password ?? undefined,
    startupOptions: options ?? undefined,
    connectTimeout: connectTimeout ?? undefined,
    // The stream encrypts, and the client sees a plain connection.
    ssl: false,
    stream: () => connectServer(link)
  }
}

/**
 * Leaves out the settings of the TCP connection. They have no effect on a Unix socket, and behind a pooler the server's
 * connection is not this process's.
 */
const ofTransactions: (settings: Settings) => Settings = Record.filter((_, name) => !name.startsWith("tcp_"))

/**
 * Number of sessions that are compared, and of comparisons. Where sessions share processes while other programs use the
 * pooler, a session may get the same process several times by chance.
 */
const sessions = 4
const rounds = 8

/** Time limit for a pooler to provide the connections to the server. */
const patience = "10 seconds"

const unusable = ({ url }: Link, explanation: string) =>
  Effect.fail(new DatabaseUnusable({ database: PostgresUrl.nameOf(url), why: "refused", explanation }))

const isRefusedSetting = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  Predicate.isError(cause) && cause.message.startsWith("unsupported startup parameter")

interface Session {
  /** The server's process. */
  readonly pid: number
  /** Current settings, by name. */
  readonly found: Settings
}

const read = Effect.fnUntraced(function* (connection: PgConnection.PgConnection, names: ReadonlyArray<string>) {
  const { rows } = yield* connection.query(
    "SELECT pg_backend_pid() AS pid, name, setting FROM pg_settings WHERE name = ANY($1)",
    [[...names, "synchronous_commit"]],
    false
  )
  return {
    pid: Number(rows[0]?.["pid"]),
    found: Object.fromEntries(rows.map(({ name, setting }) => [String(name), String(setting)]))
  } satisfies Session
})

/**
 * Replaces `synchronous_commit = off` (the setting of the server, database or role) by `on`, so that commits wait for the
 * disk. Keeps all other values, which wait at least for the server's own disk.
 */
const durable = (settings: Settings, { synchronous_commit = "off" }: Settings): Settings => ({
  ...settings,
  synchronous_commit: synchronous_commit === "off" ? "on" : synchronous_commit
})

/** Returns the settings that a direct connection has; null behind a pooler. */
const tryDirect = (link: Link, settings: Settings) =>
  PgConnection.make({ ...addressOf(link), startupParameters: settings }).pipe(
    Effect.flatMap((connection) =>
      Effect.map(read(connection, Object.keys(settings)), ({ found, pid }) =>
        pid === connection.processId &&
        Object.entries(ofTransactions(settings)).every(([name, value]) => found[name] === value)
          ? durable(settings, found)
          : null
      )
    ),
    Effect.catchIf(isRefusedSetting, () => Effect.succeed(null))
  )

/** Returns whether sessions share processes of the server, or change them. In each round, one holds its process. */
const sharesProcesses = Effect.fnUntraced(function* (connections: ReadonlyArray<PgConnection.PgConnection>) {
  const owners = new Map<number, number>()
  for (let round = 0; round < rounds; round++) {
    const holder = connections[round % connections.length]
    yield* holder?.query("BEGIN", [], false) ?? Effect.void
    for (const [index, connection] of connections.entries()) {
      const { pid } = yield* read(connection, [])
      if ((owners.get(pid) ?? index) !== index) return true
      owners.set(pid, index)
    }
    yield* holder?.query("COMMIT", [], false) ?? Effect.void
  }
  return owners.size > connections.length
})

/** Finds the mode of a pooler. Fails in statement mode, which has no transactions. */
const routeBehind = Effect.fnUntraced(function* (link: Link, { default_transaction_isolation, ...settings }: Settings) {
  const first = yield* PgConnection.make(addressOf(link))
  const { found } = yield* read(first, ["default_transaction_isolation"])
  const isolation = found["default_transaction_isolation"]
  if (default_transaction_isolation !== undefined && isolation !== default_transaction_isolation) {
    return yield* unusable(
      link,
      `default_transaction_isolation is ${isolation}, which can't be changed through a pooler. Run ALTER ROLE ... SET default_transaction_isolation = '${default_transaction_isolation}' for the URL's user, or connect to the server itself.`
    )
  }
  const inTransaction = Effect.andThen(first.query("BEGIN", [], false), first.query("COMMIT", [], false))
  if (Result.isFailure(yield* Effect.result(inTransaction))) {
    return yield* unusable(
      link,
      "the pooler closes a connection that begins a transaction, as in statement mode. Use session or transaction mode (pool_mode in pgbouncer)."
    )
  }
  const others = Effect.all(Array.from({ length: sessions - 1 }, () => PgConnection.make(addressOf(link))))
  const compared = Effect.flatMap(others, (found) => sharesProcesses([first, ...found]))
  const isShared = yield* Effect.timeoutOption(compared, patience)
  if (Option.isNone(isShared)) {
    return yield* unusable(
      link,
      "the pooler provides too few connections to the server. Raise its pool size (default_pool_size in pgbouncer): in session mode to ten for each process of doorhook, in transaction mode to at least two."
    )
  }
  return { mode: isShared.value ? "transaction" : "session", settings: durable(settings, found) } satisfies Route
})

/** Finds the route to the server. */
export const findRoute = (link: Link, settings: Settings): Effect.Effect<Route, SqlError.SqlError | DatabaseUnusable> =>
  Effect.scoped(
    Effect.gen(function* (): Effect.fn.Return<Route, SqlError.SqlError | DatabaseUnusable, Scope.Scope> {
      const direct = yield* Effect.scoped(tryDirect(link, settings))
      return direct === null ? yield* routeBehind(link, ofTransactions(settings)) : { mode: "direct", settings: direct }
    })
  )
