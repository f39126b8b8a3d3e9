/**
 * `SqlClient` of `effect/sql` on `node:sqlite`, with one connection, which a transaction uses exclusively.
 *
 * The official driver does not load with this version of Effect. Later it could replace this file, except for
 * `SqliteTurns`.
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
import type { Key } from "../ReadConnection.ts"
import { ReadConnection } from "../ReadConnection.ts"
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
import { identityOf, isSameFile } from "./SqliteFile.ts"
import { isBusy, isReadOnly } from "./SqliteResult.ts"
import { makeTurns, SqliteTurns } from "./SqliteTurns.ts"

export interface SqliteClientConfig {
  /** The path of the file, or `:memory:`. */
  readonly filename: string
  /**
   * With `FULL` (the default), a change is on disk before its call returns. With `NORMAL`, a power cut may lose the last
   * commits.
   */
  readonly synchronous?: "FULL" | "NORMAL"
  /** Number of unreadable frames of a damaged log that may be lost (`SqliteDatabase`). Default: none. */
  readonly acceptLostFrames?: number | undefined
  /** How long a statement waits while another process is writing, in milliseconds. */
  readonly busyTimeout?: number
  /** Fails when this process may no longer use the file. Default: never. */
  readonly evicted?: Effect.Effect<never, StoreLost> | undefined
}

const defaultBusyTimeout = 2_000

/**
 * Longest single wait of SQLite for a lock, in milliseconds. SQLite's wait blocks the process, so longer waits are
 * split, with pauses in between.
 */
const busyStep = 25

/** Maximum number of cached prepared statements. It exceeds the number of different statements. */
const maxPrepared = 256

/** Error for a parameter of a type that SQLite does not support. */
class UnsupportedValue extends Schema.TaggedError<UnsupportedValue>()("UnsupportedValue", { type: Schema.String }) {
  override get message(): string {
    return `SQLite can't store a value of type ${this.type}`
  }
}

const toInput = (value: unknown): SQLInputValue => {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value
  if (value === null || value instanceof Uint8Array) return value
  if (typeof value === "boolean") return value ? 1 : 0
  throw new UnsupportedValue({ type: typeof value })
}

/** Converts an error. Node.js reports SQLite's extended result code as `errcode`, but the classifier reads `errno`. */
const classify = (cause: unknown, operation: string): SqlError => {
  const described =
    cause instanceof Error && "errcode" in cause ? Object.assign(cause, { errno: cause.errcode }) : cause
  return new SqlError({ reason: classifySqliteError(described, { message: "Failed to execute statement", operation }) })
}

const attempt = <A>(operation: string, run: () => A): Effect.Effect<A, SqlError> =>
  Effect.try({ try: run, catch: (cause) => classify(cause, operation) })

/** Whether the statement failed because another process is writing. */
const meetsWriter = ({ reason }: SqlError): boolean => isBusy(reason.cause)

/** Retries while another process is writing. */
const patienceOf = (busyTimeout: number) => ({
  while: meetsWriter,
  schedule: Schedule.spaced(busyStep),
  times: Math.floor(busyTimeout / (2 * busyStep))
})

/** A statement that returns rows as arrays, and its column names. */
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

/**
 * Builds row objects. Including later copies of the rows, this is twice as fast as using the driver's objects
 * (measured).
 */
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

  /**
   * Retries a statement while another process is writing. Does not retry inside a transaction, where this process
   * already has the lock.
   */
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
 * Makes the service for fast reads of committed rows. A database in memory has only one connection, so a read waits for
 * an open transaction.
 *
 * With a tracer, the read goes through the client, which makes a span. After a failure, the client repeats the read and
 * reports the error. Outside fibers, the tracer of the fiber that opened the database applies.
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
  const rows: ReadConnection["Service"]["rows"] = (statement, params) => {
    const isTraced = (Fiber.getCurrent()?.getRef(Tracer.Tracer) ?? tracer) !== Tracer.nativeTracer
    if ((snapshots === null && db.isTransaction) || isTraced) return client.unsafe(statement, params)
    const error = refusal(true)
    if (error !== null) return Effect.fail(error)
    const found = direct(statement, params)
    if (found !== null) return Effect.succeed(found)
    return db.isTransaction ? client.unsafe(statement, params) : connection.execute(statement, params, undefined)
  }
  return ReadConnection.of({
    rows,
    row: <A extends object>(statement: string, { value }: Key) =>
      Effect.mapEager(rows<A>(statement, [value]), ([row]) => row)
  })
}

/**
 * Size to which the log shrinks when it begins again after a checkpoint, in bytes. A reader that stays open lets it
 * grow. Twice the size at which SQLite starts a checkpoint, so the log seldom shrinks in normal operation.
 */
const keptLog = 8 * 1_024 * 1_024

/** Turns on the write-ahead log. Returns its path, or null for a database in memory. */
const setJournal = (db: DatabaseSync): string | null => {
  const hasLog = Object.values(db.prepare("PRAGMA journal_mode = WAL").get() ?? {})[0] === "wal"
  db.exec(`PRAGMA journal_size_limit = ${keptLog}`)
  // The first read creates the log.
  db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get()
  const location = db.location()
  return hasLog && location !== null ? `${location}-wal` : null
}

/** Interval between checks of the files' paths, in milliseconds. */
const watchPause = 1_000

/**
 * Connections that stay open until the process ends. Closing one would let SQLite copy a damaged log into the database, or
 * delete the log of a file that has replaced this one.
 */
const abandoned = new Set<DatabaseSync>()

/** What `connect` adds to a connection: durability, and checks of its files. */
interface Connected {
  readonly durably: Durably
  /** Waits until a transaction is on disk. Takes `total_changes()` of the connection before and after it. */
  readonly syncedTo: (before: number, changed: number) => Effect.Effect<void, SqlError>
  /** Why statements are refused; null if they are accepted. `reads`: whether the statement only reads. */
  readonly refusal: (reads: boolean) => SqlError | null
  readonly health: Pick<typeof StoreHealth.Service, "trouble" | "lost">
}

/** Syncs the log and watches the paths of the database and the log, for the lifetime of the scope. */
const connect = Effect.fnUntraced(function* (
  db: DatabaseSync,
  path: string,
  filename: string,
  semaphore: Semaphore.Semaphore,
  { busyTimeout, evicted }: { readonly busyTimeout: number; readonly evicted: Effect.Effect<never, StoreLost> }
) {
  // Uses the path as given, because it may be a symbolic link that later names another file. A URI can't be watched.
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
      // A file whose path can't be checked may have been replaced.
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
      "its log has a part that can't be read back. End this process and start it again. Accepted changes are not lost."
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
  const again = "The database no longer accepts changes or reads: start this process again"
  const unreadable = new StoreLost({
    message: `The log of ${filename} can't be read back after a failed sync. ${again}. Accepted changes are not lost.`
  })
  const moved = new StoreLost({
    message: `${filename} or its log was deleted, moved or replaced while it was open. ${again}, with the file in its place.`
  })
  yield* Effect.forkScoped(
    mendLog({ db, log, semaphore, failing, countChanges, lose: Effect.andThen(lose(unreadable), Effect.never) })
  )
  /** Why the last check of the paths failed; empty if it succeeded. */
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
      return Effect.logWarning(`Can't check the files of ${filename}`, error)
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

/** For databases in memory: no log to sync, and no file that could be replaced. */
const unconnected: Connected = {
  durably: alreadyDurable,
  syncedTo: () => Effect.void,
  refusal: () => null,
  health: { trouble: () => null, lost: Effect.never }
}

/**
 * Refuses statements after a failed sync. If SQLite itself refuses a statement because of the failure, adds the reason
 * to the error.
 */
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

/** Makes transactions wait until they are on disk. Of nested transactions, only the outermost waits. */
const durableTransactions = (sql: SqlClient.SqlClient, durably: Durably, guard: Guard): SqlClient.SqlClient => {
  const { transactionService, withTransaction } = sql
  return Object.assign(sql, {
    withTransaction: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
      Effect.flatMap(Effect.serviceOption(transactionService), (open) =>
        Option.isSome(open) ? withTransaction(effect) : guard(false, durably.transaction(withTransaction(effect)))
      )
  })
}

/** The client of a file, and the other services on its connection. */
export type Services = SqlClient.SqlClient | SqliteTurns | ReadConnection

/** Opens the file, creating it if it is missing, and closes it with the scope. */
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
      // A single statement is a separate transaction. It releases the connection before it waits for the disk.
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
      Context.add(ReadConnection, makeReads(db, prepare, snapshots, connection, sql, connected, yield* Tracer.Tracer)),
      Context.add(StoreHealth, { ...connected.health, probe: Effect.void, probeShared: Effect.void })
    )
  })

export const layer = (config: SqliteClientConfig): Layer.Layer<Services, SqlError | DatabaseUnusable> =>
  Layer.effectContext(make(config)).pipe(Layer.provide(Reactivity.layer))
