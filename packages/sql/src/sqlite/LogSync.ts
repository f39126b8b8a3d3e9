/**
 * Syncs the write-ahead log of a file to disk in the background.
 *
 * With `synchronous = FULL`, SQLite blocks the thread at each commit until the disk has answered, which takes up to
 * tens of milliseconds. With `NORMAL`, a commit only writes the log, and SQLite syncs only where needed to avoid
 * corruption (sqlite.org/pragma.html#pragma_synchronous), so a power cut may lose the commits since the last sync.
 * doorhook uses `NORMAL`, and this module syncs before a commit is reported as done. One sync covers all commits before
 * it.
 *
 * After a failed sync, the next one may report success for pages that never reached the disk. A failure therefore lasts
 * until the log has been rewritten and synced (`mendLog`), or permanently if the log can't be read back.
 */
import { Effect } from "effect"
import type { Latch, Semaphore } from "effect"
import { SqlError } from "effect/sql"
import { close, closeSync, fdatasync, fstatSync, fsyncSync, openSync } from "node:fs"
import { dirname } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import * as LogFrames from "./LogFrames.ts"
import { identityOf, isSameFile } from "./SqliteFile.ts"

type Waiter = (done: Effect.Effect<void, SqlError.SqlError>) => void

/** Errors of file systems that can't sync a folder. Such file systems make file names durable in another way. */
const cantSync: ReadonlySet<unknown> = new Set(["EINVAL", "ENOTSUP", "EPERM", "EACCES", "EISDIR"])

/** Syncs a folder to disk. Without this, the contents of a new file may survive a power cut and its name may not. */
const syncFolder = (folder: string): void => {
  if (process.platform === "win32") return
  try {
    const descriptor = openSync(folder, "r")
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && cantSync.has(error.code))) throw error
  }
}

/** Error for a change that was committed but may be lost. */
const unsynced = (cause: unknown): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ message: "Failed to sync the log to disk", cause, operation: "sync" })
  })

/** Error for a refused change. Nothing was changed. */
export const refused = (cause: Error): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ message: "The database refuses changes", cause, operation: "sync" })
  })

export class LogSync {
  private readonly path: string
  private readonly descriptor: number
  /** Number of rows that the connection has changed and committed so far; null while a transaction is open. */
  private readonly committed: () => number | null
  private readonly onFailure: () => void
  private isSyncing = false
  private waiting: Array<Waiter> = []
  /** Number of changed rows when the last successful sync began. */
  private covered = 0
  private failed: Error | null = null
  private lostForGood = false

  /** Opens the log of a database that SQLite has open, and syncs its folder. */
  constructor(options: {
    readonly path: string
    readonly committed: () => number | null
    readonly onFailure: () => void
  }) {
    this.path = options.path
    this.committed = options.committed
    this.onFailure = options.onFailure
    this.descriptor = openSync(this.path, "r+")
    syncFolder(dirname(this.path))
  }

  /** Why changes are refused; null if there is no failure. */
  get failure(): Error | null {
    return this.failed
  }

  /** Whether the failure lasts until the database is opened again. */
  get isLost(): boolean {
    return this.lostForGood
  }

  /** Whether the log's path still names the file that is synced. */
  get isInPlace(): boolean {
    return isSameFile(fstatSync(this.descriptor, { bigint: true }), identityOf(this.path))
  }

  /** Waits until everything committed so far is on disk. */
  readonly synced: Effect.Effect<void, SqlError.SqlError> = Effect.callback((resume) => {
    if (this.failed !== null) return resume(Effect.fail(unsynced(this.failed)))
    this.waiting.push(resume)
    if (!this.isSyncing) this.sync()
  })

  /**
   * Waits until one transaction is on disk. Takes `total_changes()` of the connection before and after the transaction,
   * and does not wait if a sync has covered its changes. A transaction that was open when a sync failed may still have
   * been committed.
   */
  syncedTo(before: number, changed: number): Effect.Effect<void, SqlError.SqlError> {
    if (this.failed !== null) return Effect.fail(changed > before ? unsynced(this.failed) : refused(this.failed))
    return changed > this.covered ? this.synced : Effect.void
  }

  /** Fails all waiting callers, and all later ones until `mended` is called. */
  private fail(error: Error): void {
    this.failed ??= error
    const failing = this.waiting
    this.waiting = []
    this.onFailure()
    for (const resume of failing) resume(Effect.fail(unsynced(error)))
  }

  /** Fails all callers permanently. */
  lose(error: Error): void {
    this.lostForGood = true
    this.failed = error
    this.fail(error)
  }

  /** An identifier of the position up to which the log can be read back. */
  readonly end = (): string => LogFrames.end(this.descriptor)

  /** Rewrites the log up to the position that `end` identifies, and returns its identifier. */
  readonly rewrite = (): string => LogFrames.rewrite(this.descriptor)

  /** Syncs once, even after a failure. Not interruptible, because the descriptor must stay open until the sync ends. */
  readonly flush: Effect.Effect<void, SqlError.SqlError> = Effect.uninterruptible(
    Effect.callback((resume) => {
      fdatasync(this.descriptor, (error) => resume(error === null ? Effect.void : Effect.fail(unsynced(error))))
    })
  )

  /** Ends a failure: everything up to this number of changed rows is on disk. */
  mended(covered: number): void {
    if (this.lostForGood) return
    this.covered = covered
    this.failed = null
  }

  /**
   * Syncs for the callers that are waiting now. Later callers may have committed too late for this sync and wait for
   * the next.
   */
  private sync(): void {
    const served = this.waiting
    this.waiting = []
    this.isSyncing = true
    const covers = this.committed()
    fdatasync(this.descriptor, (error) => {
      this.isSyncing = false
      if (error !== null) this.fail(error)
      else if (covers !== null) this.covered = covers
      const done = this.failed === null ? Effect.void : Effect.fail(unsynced(this.failed))
      for (const resume of served) resume(done)
      if (this.waiting.length > 0 && !this.isSyncing) this.sync()
    })
  }

  /** Waits for the sync in progress, to learn whether it fails. Nothing may be committed afterwards. */
  readonly idle: Effect.Effect<void> = Effect.suspend(() =>
    this.isSyncing ? Effect.ignore(this.nextSync) : Effect.void
  )

  private readonly nextSync: Effect.Effect<void, SqlError.SqlError> = Effect.callback((resume) => {
    this.waiting.push(resume)
  })

  /** Closes the descriptor. Must run after `idle`. */
  readonly close: Effect.Effect<void> = Effect.callback((resume) => close(this.descriptor, () => resume(Effect.void)))
}

/** Runs an operation and waits until its changes are on disk. Does not wait for non-durable changes. */
type Wait = <A, E, R>(operation: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>

export interface Durably {
  /** Does not wait if the statement changes nothing. */
  readonly statement: Wait
  /**
   * Waits even if the transaction changes nothing, because its answer may depend on an earlier commit, like the answer
   * to a repeated request.
   */
  readonly transaction: Wait
}

/** Implementation without waiting, for databases without a log, which SQLite syncs itself. */
export const alreadyDurable: Durably = { statement: (operation) => operation, transaction: (operation) => operation }

/**
 * Makes a function that returns how many rows a connection has changed so far
 * (sqlite.org/lang_corefunc.html#total_changes).
 */
export const makeCountChanges = (db: DatabaseSync): (() => number) => {
  const changes = db.prepare("SELECT total_changes()")
  changes.setReturnArrays(true)
  return () => Number(changes.get()?.[0])
}

/** Makes operations durable. Concurrent changes can make a statement wait unnecessarily. */
export const makeDurably = (log: LogSync, countChanges: () => number): Durably => ({
  statement: (operation) =>
    Effect.suspend(() => {
      const before = countChanges()
      return Effect.flatMap(operation, (answer) =>
        countChanges() === before ? Effect.succeed(answer) : Effect.as(log.synced, answer)
      )
    }),
  transaction: (operation) =>
    Effect.suspend(() => {
      const before = countChanges()
      return Effect.flatMap(operation, (answer) => Effect.as(log.syncedTo(before, countChanges()), answer))
    })
})

/**
 * Pause before the log is rewritten after a failure, in milliseconds. The pause doubles after each failure up to the
 * maximum. The maximum is short because publications are refused until the next attempt, even if the disk has
 * recovered.
 */
const mendPause = 1_000
const maxMendPause = 4_000

/** Makes SQLite refuse all changes, and stops checkpoints until the log is completely on disk. */
export const refuseChanges = (db: DatabaseSync): void =>
  db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA query_only = ON")

const takeChanges = (db: DatabaseSync): void => db.exec("PRAGMA query_only = OFF; PRAGMA wal_autocheckpoint = 1000")

/**
 * Rewrites the whole log. Returns false if a part that SQLite uses can't be read back.
 *
 * To find out, the function makes a commit, which advances the readable end of the log only if everything before it is
 * intact. The commit sets `user_version` to its current value, because the file may still turn out to belong to another
 * application. The caller must have turned checkpoints off, because they would copy unreadable parts into the database.
 */
const rewriteWhole = (db: DatabaseSync, log: LogSync): boolean => {
  const before = log.end()
  const version = Number(db.prepare("PRAGMA user_version").get()?.["user_version"])
  db.exec(`PRAGMA user_version = ${version}; BEGIN IMMEDIATE`)
  try {
    return log.rewrite() !== before
  } finally {
    db.exec("ROLLBACK")
  }
}

/**
 * Syncs a log that another process, or an abandoned connection of this one, may have left unsynced. Returns false if a
 * part of the log can't be read back, which SQLite does not notice while another connection is open. If the sync fails,
 * the log is lost.
 */
export const syncLeftOver = (db: DatabaseSync, log: LogSync): Effect.Effect<boolean, SqlError.SqlError> => {
  const rewritten = Effect.try({
    try: () => {
      db.exec("PRAGMA wal_autocheckpoint = 0")
      return rewriteWhole(db, log)
    },
    catch: unsynced
  })
  const flushed = log.flush.pipe(
    Effect.tapError((error) => Effect.sync(() => log.lose(error))),
    Effect.tap(() => Effect.sync(() => takeChanges(db)))
  )
  return Effect.flatMap(rewritten, (isWhole) => (isWhole ? Effect.as(flushed, true) : Effect.succeed(false)))
}

/** Rewrites the log of a connection that refuses changes. */
const rewriteRefusing = (db: DatabaseSync, log: LogSync): boolean => {
  db.exec("PRAGMA query_only = OFF")
  try {
    return rewriteWhole(db, log)
  } finally {
    db.exec("PRAGMA query_only = ON")
  }
}

/** Repairs the log after each failed sync. Runs until the log is lost. */
export const mendLog = <R>(options: {
  readonly db: DatabaseSync
  readonly log: LogSync
  /** Held while the connection is in use. */
  readonly semaphore: Semaphore.Semaphore
  /** A latch that is open while there is a failure. */
  readonly failing: Latch.Latch
  readonly countChanges: () => number
  /** Runs when the log can't be read back. */
  readonly lose: Effect.Effect<never, never, R>
}): Effect.Effect<never, never, R> => {
  const { countChanges, db, failing, log, lose, semaphore } = options
  const written = semaphore.withPermit(
    Effect.try({
      try: () => ({ isWhole: rewriteRefusing(db, log), covered: countChanges() }),
      catch: unsynced
    })
  )
  const mend = Effect.flatMap(written, ({ covered, isWhole }) =>
    isWhole
      ? Effect.tap(log.flush, () =>
          Effect.sync(() => {
            log.mended(covered)
            if (log.failure !== null) return
            failing.closeUnsafe()
            takeChanges(db)
          })
        )
      : lose
  )
  const until = (pause: number): Effect.Effect<void, never, R> =>
    Effect.suspend(() =>
      log.isLost
        ? Effect.never
        : Effect.catch(mend, () => Effect.andThen(Effect.sleep(pause), until(Math.min(2 * pause, maxMendPause))))
    )
  const round = Effect.gen(function* () {
    yield* failing.await
    const why = log.failure?.message ?? ""
    yield* Effect.logError(
      `The disk failed to sync the database's log (${why}). All changes are refused until the log has been rewritten and synced.`
    )
    yield* until(mendPause)
    if (log.isLost) return yield* Effect.never
    yield* Effect.logInfo("The database's log is on disk again. Changes are accepted.")
  })
  return Effect.forever(round)
}
