/**
 * `SqlClient` of `effect/sql` over `node:sqlite`: one connection, and each transaction has it to itself.
 *
 * The official driver does not load with this version of Effect; it can take this file's place, but for `SqliteTurns`.
 */
import { RecentMap, StoreHealth, StoreLost } from "@doorhook/core"
import {
  Context,
  Deferred,
  Effect,
  Fiber,
  Latch,
  Layer,
  Option,
  Schedule,
  Schema,
  Semaphore,
  Stream,
  Tracer
} from "effect"
import type { Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, Statement } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite"
import { resolve } from "node:path"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { SqlReads } from "../SqlReads.ts"
import type { Durably } from "./LogSync.ts"
import {
  alreadyDurable,
  LogSync,
  makeCountChanges,
  makeDurably,
  mendLog,
  refuseChanges,
  refused,
  syncLeftOver
} from "./LogSync.ts"
import { openDatabase } from "./NodeSqlite.ts"
import type { Snapshots } from "./Snapshots.ts"
import { openSnapshots } from "./Snapshots.ts"
import { makeTurns, SqliteTurns } from "./SqliteTurns.ts"
import { identityOf, isSameFile } from "./SqliteFile.ts"
import { isBusy, isReadOnly } from "./SqliteResult.ts"

export interface SqliteClientConfig {
  /** The path of the file, or `:memory:`. */
  readonly filename: string
  /**
   * With `FULL` (the default) a change is on disk before it is answered for, so that what was accepted survives a power
   * cut. `NORMAL` may lose the last commits in one, and no more.
   */
  readonly synchronous?: "FULL" | "NORMAL"
  /** How long a statement waits for another process that writes, in milliseconds. */
  readonly busyTimeout?: number
  /** Fails when this process may not use the file any more. Default: never. */
  readonly evicted?: Effect.Effect<never, StoreLost> | undefined
}

const defaultBusyTimeout = 2_000

/** SQLite's own way of waiting stops this process: it waits so long at a time, and then rests. In milliseconds. */
const busyStep = 25

/** How many prepared statements are kept. There are fewer different ones. */
const maxPrepared = 256

/** A statement was given a value that SQLite has no type for. */
class UnsupportedValue extends Schema.TaggedError<UnsupportedValue>()("UnsupportedValue", { type: Schema.String }) {
  override get message(): string {
    return `SQLite stores no ${this.type}`
  }
}

const toInput = (value: unknown): SQLInputValue => {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value
  if (value === null || value instanceof Uint8Array) return value
  if (typeof value === "boolean") return value ? 1 : 0
  throw new UnsupportedValue({ type: typeof value })
}

/** Node tells SQLite's extended result code as `errcode`; the classifier looks for `errno`. */
const classify = (cause: unknown, operation: string): SqlError => {
  const described =
    cause instanceof Error && "errcode" in cause ? Object.assign(cause, { errno: cause.errcode }) : cause
  return new SqlError({ reason: classifySqliteError(described, { message: "Failed to execute statement", operation }) })
}

const attempt = <A>(operation: string, run: () => A): Effect.Effect<A, SqlError> =>
  Effect.try({ try: run, catch: (cause) => classify(cause, operation) })

/** Another process writes. */
const meetsWriter = ({ reason }: SqlError): boolean => isBusy(reason.cause)

/** How long to try again while another process writes. */
const patienceOf = (busyTimeout: number) => ({
  while: meetsWriter,
  schedule: Schedule.spaced(busyStep),
  times: Math.floor(busyTimeout / (2 * busyStep))
})

/** A statement that answers rows as lists of values, and the names of these. */
interface Prepared {
  readonly statement: StatementSync
  readonly names: ReadonlyArray<string>
}

type Prepare = (sql: string) => Prepared

const prepareOn = (db: DatabaseSync, sql: string): Prepared => {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  return { statement, names: statement.columns().map(({ name }) => name) }
}

const makePrepare = (db: DatabaseSync): Prepare => {
  const prepared = new RecentMap<string, Prepared>(maxPrepared)
  return (sql) => {
    const known = prepared.get(sql)
    if (known !== undefined) return known
    const made = prepareOn(db, sql)
    prepared.set(sql, made)
    return made
  }
}

type Row = Record<string, SQLOutputValue>

/** Measured: making objects here, and copying these later, is twice as fast as with those that the driver makes. */
const rowsOf = ({ names, statement }: Prepared, params: ReadonlyArray<unknown>): ReadonlyArray<Row> =>
  statement.all(...params.map(toInput)).map((values) => {
    const row: Row = {}
    for (let at = 0; at < names.length; at++) row[names[at] ?? ""] = values[at] ?? null
    return row
  })

const makeConnection = (db: DatabaseSync, prepare: Prepare, busyTimeout: number): SqlConnection.Connection => {
  type Transform = Parameters<SqlConnection.Connection["execute"]>[2]

  const rows = (prepared: Prepared, params: ReadonlyArray<unknown>, transform: Transform): ReadonlyArray<Row> => {
    const found = rowsOf(prepared, params)
    return transform === undefined ? found : transform(found)
  }

  const values = (sql: string, params: ReadonlyArray<unknown>) =>
    attempt("executeValues", (): ReadonlyArray<ReadonlyArray<unknown>> =>
      prepareOn(db, sql)
        .statement.all(...params.map(toInput))
        .map((row) => Object.values(row))
    )

  const patience = patienceOf(busyTimeout)

  /** Waits for others, unless a transaction is open: then the file is this process's own. */
  const patiently = <A>(statement: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    Effect.catch(statement, (error) =>
      meetsWriter(error) && !db.isTransaction ? Effect.retry(statement, patience) : Effect.fail(error)
    )

  const execute: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    patiently(attempt("execute", () => rows(prepare(sql), params, transform)))

  return {
    execute,
    executeRaw: (sql, params) =>
      patiently(attempt("executeRaw", () => prepare(sql).statement.run(...params.map(toInput)))),
    executeValues: values,
    executeValuesUnprepared: values,
    executeUnprepared: (sql, params, transform) =>
      patiently(attempt("executeUnprepared", () => rows(prepareOn(db, sql), params, transform))),
    executeStream: (sql, params, transform) =>
      Stream.unwrap(Effect.map(execute(sql, params, transform), Stream.fromIterable))
  }
}

/**
 * Reads when it is called, nothing that is not committed. In memory, where there is one connection, a read takes its turn while a
 * transaction is open. With a tracer the client makes a span of it, and what goes wrong is tried again and reported by the
 * client. Outside of fibers the tracer is the one that the database was opened with.
 */
const makeReads = (
  db: DatabaseSync,
  prepare: Prepare,
  snapshots: Snapshots<Row> | null,
  connection: SqlConnection.Connection,
  client: SqlClient.SqlClient,
  { refusal }: Connected,
  tracer: Tracer.Tracer
) => {
  const prepareRead = snapshots === null ? prepare : makePrepare(snapshots.db)
  const direct = (statement: string, params: ReadonlyArray<unknown>): ReadonlyArray<Row> | null => {
    try {
      if (snapshots === null) return rowsOf(prepare(statement), params)
      return snapshots.rows(statement, params, () => rowsOf(prepareRead(statement), params))
    } catch {
      return null
    }
  }
  return SqlReads.of({
    rows: (statement, params) => {
      const isTraced = (Fiber.getCurrent()?.getRef(Tracer.Tracer) ?? tracer) !== Tracer.nativeTracer
      if ((snapshots === null && db.isTransaction) || isTraced) return client.unsafe(statement, params)
      const error = refusal(true)
      if (error !== null) return Effect.fail(error)
      const rows = direct(statement, params)
      if (rows !== null) return Effect.succeed(rows)
      return db.isTransaction ? client.unsafe(statement, params) : connection.execute(statement, params, undefined)
    }
  })
}

/** Has the file keep a log; returns where that is, null for a database in memory. */
const setJournal = (db: DatabaseSync): string | null => {
  const hasLog = Object.values(db.prepare("PRAGMA journal_mode = WAL").get() ?? {})[0] === "wal"
  // The log is made by the first read.
  db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get()
  const location = db.location()
  return hasLog && location !== null ? `${location}-wal` : null
}

/** How often the names of the files are looked at, in milliseconds. */
const watchPause = 1_000

/**
 * Kept open until the process ends: closed, SQLite would move what can't be trusted into the database, or delete the log
 * of the file that has taken the place of this one.
 */
const abandoned = new Set<DatabaseSync>()

/** A connection, and whether what it has written is on disk. */
interface Connected {
  readonly durably: Durably
  /** Waits until a transaction is on disk, given how many rows had been changed before and after it. */
  readonly syncedTo: (before: number, changed: number) => Effect.Effect<void, SqlError>
  /** Why statements are refused, reads included or not; null when they are not. */
  readonly refusal: (reads: boolean) => SqlError | null
  readonly health: typeof StoreHealth.Service
}

/** Keeps the log on disk, and an eye on the names of both files, for as long as the scope lives. */
const connect = Effect.fnUntraced(function* (
  db: DatabaseSync,
  path: string,
  filename: string,
  semaphore: Semaphore.Semaphore,
  { busyTimeout, evicted }: { readonly busyTimeout: number; readonly evicted: Effect.Effect<never, StoreLost> }
) {
  // The name as it was given, which may be a link that is changed to another file; not so for a URI.
  const name = filename.startsWith("file:") ? (db.location() ?? filename) : resolve(filename)
  const identity = identityOf(name)
  const countChanges = makeCountChanges(db)
  const failing = Latch.makeUnsafe(false)
  const lostSignal = yield* Deferred.make<never, StoreLost>()
  const log: LogSync = yield* attempt(
    "open",
    () =>
      new LogSync({
        path,
        committed: () => (db.isTransaction ? null : countChanges()),
        onFailure: () => {
          refuseChanges(db)
          if (!log.isLost) failing.openUnsafe()
        }
      })
  )
  const isInPlace = () => isSameFile(identity, identityOf(name)) && log.isInPlace
  const isSafeToClose = () => {
    try {
      return log.failure === null && isInPlace()
    } catch {
      // What can't be looked at may have been replaced.
      return false
    }
  }
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      log.idle,
      Effect.suspend(() => {
        if (!isSafeToClose()) abandoned.add(db)
        return log.close
      })
    )
  )
  if (!(yield* Effect.retry(syncLeftOver(db, log), patienceOf(busyTimeout)))) {
    const explanation =
      "its log has a part that can't be read back. End this process and start it again; what was answered for is on disk."
    const error = new DatabaseUnusable({ database: filename, why: "failed", explanation })
    log.lose(error)
    return yield* error
  }

  const lose = Effect.fnUntraced(function* (error: StoreLost) {
    if (log.isLost) return
    log.lose(error)
    yield* Deferred.fail(lostSignal, error)
    yield* Effect.logError(error.message)
  })
  const again = "Nothing is accepted any more: start this process again"
  const unreadable = new StoreLost({
    message: `The log of ${filename} can't be read back after a sync that failed. ${again}; what was answered for is on disk.`
  })
  const moved = new StoreLost({
    message: `${filename} or its log was deleted, moved or replaced while it was open. ${again}, with the file in its place.`
  })
  yield* Effect.forkScoped(
    mendLog({ db, log, semaphore, failing, countChanges, lose: Effect.andThen(lose(unreadable), Effect.never) })
  )
  /** Why the files could not be looked at the last time. */
  let unseen = ""
  yield* Effect.try({ try: isInPlace, catch: (cause) => classify(cause, "watch") }).pipe(
    Effect.flatMap((still) => {
      unseen = ""
      return still ? Effect.void : Effect.andThen(lose(moved), Effect.never)
    }),
    Effect.catch((error) => {
      const why = String(error.reason.cause)
      if (why === unseen) return Effect.void
      unseen = why
      return Effect.logWarning(`Can't look at the files of ${filename}`, error)
    }),
    Effect.delay(watchPause),
    Effect.forever,
    Effect.forkScoped
  )
  yield* Effect.forkScoped(Effect.catch(evicted, lose))

  const connected: Connected = {
    durably: makeDurably(log, countChanges),
    syncedTo: (before, changed) => log.syncedTo(before, changed),
    refusal: (reads) => (log.failure !== null && (log.isLost || !reads) ? refused(log.failure) : null),
    health: {
      trouble: () => {
        if (log.failure === null) return null
        if (log.isLost) return log.failure.message
        return `The disk failed to sync the database's log (${log.failure.message}). All changes are refused until the log has been rewritten and synced, which is retried after pauses of up to 4 seconds.`
      },
      lost: Deferred.await(lostSignal)
    }
  }
  return connected
})

/** Without a log there is nothing to sync, and nothing that others could take away. */
const unconnected: Connected = {
  durably: alreadyDurable,
  syncedTo: () => Effect.void,
  refusal: () => null,
  health: { trouble: () => null, lost: Effect.never }
}

/** Refuses what can't be answered for; what SQLite itself refuses for that reason fails with the reason. */
const makeGuard =
  ({ refusal }: Connected) =>
  <A, E, R>(reads: boolean, operation: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.suspend(() => {
      const error = refusal(reads)
      if (error !== null) return Effect.fail(error)
      return Effect.mapError(operation, (failed) =>
        failed instanceof SqlError && isReadOnly(failed.reason.cause) ? (refusal(false) ?? failed) : failed
      )
    })

type Guard = ReturnType<typeof makeGuard>

/** Has what a transaction changed on disk before it is answered; of those within each other the outermost. */
const durableTransactions = (sql: SqlClient.SqlClient, durably: Durably, guard: Guard): SqlClient.SqlClient => {
  const { transactionService, withTransaction } = sql
  return Object.assign(sql, {
    withTransaction: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
      Effect.flatMap(Effect.serviceOption(transactionService), (open) =>
        Option.isSome(open) ? withTransaction(effect) : guard(false, durably.transaction(withTransaction(effect)))
      )
  })
}

/** The client of a file, and what else works on its connection. */
export type Services = SqlClient.SqlClient | SqliteTurns | SqlReads

/** Opens the file, which is made when there is none, and closes it with the scope. */
export const make: (
  config: SqliteClientConfig
) => Effect.Effect<Context.Context<Services>, SqlError | DatabaseUnusable, Scope.Scope | Reactivity.Reactivity> =
  Effect.fnUntraced(function* ({
    busyTimeout = defaultBusyTimeout,
    evicted = Effect.never,
    filename,
    synchronous = "FULL"
  }) {
    const db = yield* Effect.acquireRelease(
      attempt("open", () =>
        openDatabase(filename, {
          timeout: Math.min(busyStep, busyTimeout),
          enableForeignKeyConstraints: true
        })
      ),
      (opened) =>
        Effect.sync(() => {
          if (!abandoned.has(opened)) opened.close()
        })
    )
    const path = yield* attempt("configure", () => setJournal(db))
    const semaphore = Semaphore.makeUnsafe(1)
    const isOurs = synchronous === "FULL" && path !== null
    yield* attempt("configure", () => db.exec(`PRAGMA synchronous = ${isOurs ? "NORMAL" : synchronous}`))
    const connected = isOurs ? yield* connect(db, path, filename, semaphore, { busyTimeout, evicted }) : unconnected
    const guard = makeGuard(connected)

    const prepare = makePrepare(db)
    const connection = makeConnection(db, prepare, busyTimeout)
    const acquirers = SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connection),
      semaphore,
      isTransaction: () => db.isTransaction
    })
    const sql = yield* SqlClient.make({
      ...acquirers,
      // A statement outside of transactions is one of its own. It waits for the disk when others have their turn already.
      borrower: (use) => guard(true, connected.durably.statement(acquirers.borrower(use))),
      compiler: Statement.makeCompilerSqlite(),
      driver: "node-sqlite",
      beginTransaction: "BEGIN IMMEDIATE",
      prepareTransactionControls: true,
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
      spanAttributes: [["db.system.name", "sqlite"]]
    })
    const snapshots =
      path === null
        ? null
        : yield* Effect.acquireRelease(
            attempt("open", () => openSnapshots<Row>(db, filename, Math.min(busyStep, busyTimeout))),
            ({ close }) => Effect.sync(close)
          )
    const turns = yield* makeTurns({
      db,
      semaphore,
      guard,
      syncedTo: connected.syncedTo,
      refusal: connected.refusal,
      attempt: (run) => attempt("execute", run),
      patiently: (statement) => Effect.retry(statement, patienceOf(busyTimeout))
    })
    return Context.make(SqlClient.SqlClient, durableTransactions(sql, connected.durably, guard)).pipe(
      Context.add(SqliteTurns, turns),
      Context.add(SqlReads, makeReads(db, prepare, snapshots, connection, sql, connected, yield* Tracer.Tracer)),
      Context.add(StoreHealth, connected.health)
    )
  })

export const layer = (config: SqliteClientConfig): Layer.Layer<Services, SqlError | DatabaseUnusable> =>
  Layer.effectContext(make(config)).pipe(Layer.provide(Reactivity.layer))
