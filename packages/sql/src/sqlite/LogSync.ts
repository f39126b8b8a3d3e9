/**
 * Syncs the write-ahead log of a file to disk while the process goes on.
 *
 * SQLite's own way, `synchronous = FULL`, stops the thread at each commit until the disk has answered, which takes from a
 * fraction of a millisecond to tens of them. With `NORMAL` it only writes the log at a commit, and syncs it (and the order
 * of everything else) where the file could break otherwise: sqlite.org/pragma.html#pragma_synchronous. What a power cut
 * could take are the commits since the log's last sync, and that is done here, before a commit is answered for: one sync
 * serves all commits that came before it.
 *
 * After a sync that failed, the next one may report success for pages that never reached the disk. So a failure holds for
 * everything, until the log has been rewritten and synced (`mendLog`), or for good when it can't be read back.
 */
import { Effect } from "effect"
import type { Latch, Semaphore } from "effect"
import { SqlError } from "effect/sql"
import { close, closeSync, fdatasync, fstatSync, fsyncSync, openSync } from "node:fs"
import { dirname } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { Durable } from "../Durability.ts"
import * as LogFrames from "./LogFrames.ts"
import { identityOf, isSameFile } from "./SqliteFile.ts"

type Waiter = (done: Effect.Effect<void, SqlError.SqlError>) => void

/** Not every file system can sync a folder; one that can't keeps the names of its files in another way. */
const cantSync: ReadonlySet<unknown> = new Set(["EINVAL", "ENOTSUP", "EPERM", "EACCES", "EISDIR"])

/** Without this, a power cut may leave a file on disk and its name not. */
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

/** The commit was made, and may be lost all the same. */
const unsynced = (cause: unknown): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ message: "Failed to sync the log to disk", cause, operation: "sync" })
  })

/** Nothing was changed. */
export const refused = (cause: Error): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ message: "The database takes no changes", cause, operation: "sync" })
  })

export class LogSync {
  private readonly path: string
  private readonly descriptor: number
  /** How many rows the connection has changed so far, all of them committed; null while a transaction is open. */
  private readonly committed: () => number | null
  private readonly onFailure: () => void
  private isSyncing = false
  private waiting: Array<Waiter> = []
  /** How many had been changed when the last sync that succeeded began. */
  private covered = 0
  private failed: Error | null = null
  private lostForGood = false

  /** Opens the log of a database that SQLite has open, and has the name of its file on disk. */
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

  /** Why nothing is answered for; null when all is well. */
  get failure(): Error | null {
    return this.failed
  }

  /** Whether the failure holds until the database is opened again. */
  get isLost(): boolean {
    return this.lostForGood
  }

  /** Whether the log's name still stands for the file that is synced. */
  get isInPlace(): boolean {
    return isSameFile(fstatSync(this.descriptor, { bigint: true }), identityOf(this.path))
  }

  /** Waits until all that is committed now is on disk. */
  readonly synced: Effect.Effect<void, SqlError.SqlError> = Effect.callback((resume) => {
    if (this.failed !== null) return resume(Effect.fail(unsynced(this.failed)))
    this.waiting.push(resume)
    if (!this.isSyncing) this.sync()
  })

  /**
   * The same for a transaction, given how many rows had been changed before and after it: it is on disk already when no
   * more have been since a sync. One that was open when a sync failed may have been committed all the same.
   */
  syncedTo(before: number, changed: number): Effect.Effect<void, SqlError.SqlError> {
    if (this.failed !== null) return Effect.fail(changed > before ? unsynced(this.failed) : refused(this.failed))
    return changed > this.covered ? this.synced : Effect.void
  }

  /** Fails all who wait, and all who come until `mended`. */
  private fail(error: Error): void {
    this.failed ??= error
    const failing = this.waiting
    this.waiting = []
    this.onFailure()
    for (const resume of failing) resume(Effect.fail(unsynced(error)))
  }

  /** The same, for good. */
  lose(error: Error): void {
    this.lostForGood = true
    this.failed = error
    this.fail(error)
  }

  /** What identifies the place up to which the log can be read back. */
  readonly end = (): string => LogFrames.end(this.descriptor)

  /** Rewrites the log up to that place, and returns what identifies it. */
  readonly rewrite = (): string => LogFrames.rewrite(this.descriptor)

  /** Syncs once, whatever has failed. Not interrupted: the descriptor must stay open until the sync ends. */
  readonly flush: Effect.Effect<void, SqlError.SqlError> = Effect.uninterruptible(
    Effect.callback((resume) => {
      fdatasync(this.descriptor, (error) => resume(error === null ? Effect.void : Effect.fail(unsynced(error))))
    })
  )

  /** Marks everything up to this change count as on disk. */
  mended(covered: number): void {
    if (this.lostForGood) return
    this.covered = covered
    this.failed = null
  }

  /** Syncs for those who wait now. Others who come before it ends may have committed too late, and get the next sync. */
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

  /** Waits for the syncs under way; whether they failed is known only then. Nothing may be committed after it. */
  readonly idle: Effect.Effect<void> = Effect.suspend(() =>
    this.isSyncing ? Effect.ignore(this.nextSync) : Effect.void
  )

  private readonly nextSync: Effect.Effect<void, SqlError.SqlError> = Effect.callback((resume) => {
    this.waiting.push(resume)
  })

  /** After `idle`. */
  readonly close: Effect.Effect<void> = Effect.callback((resume) => close(this.descriptor, () => resume(Effect.void)))
}

/** Has what an operation changed on disk before it is answered, where that has to be. */
type Wait = <A, E, R>(operation: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>

export interface Durably {
  /** A statement that changes nothing does not wait: it only reads. */
  readonly statement: Wait
  /**
   * One that changes nothing may be answered because of a commit before it, as a repeated request is: it waits for all
   * commits.
   */
  readonly transaction: Wait
}

/** Without a log of its own to sync, SQLite does by itself what has to be done. */
export const alreadyDurable: Durably = { statement: (operation) => operation, transaction: (operation) => operation }

/** How many rows a connection has changed so far: sqlite.org/lang_corefunc.html#total_changes */
export const makeCountChanges = (db: DatabaseSync): (() => number) => {
  const changes = db.prepare("SELECT total_changes() AS count")
  return () => Number(changes.get()?.["count"])
}

/** Where others change something in between, a statement waits without need. */
export const makeDurably = (log: LogSync, countChanges: () => number): Durably => ({
  statement: (operation) =>
    Effect.flatMap(Durable, (isDurable) => {
      if (!isDurable) return operation
      const before = countChanges()
      return Effect.flatMap(operation, (answer) =>
        countChanges() === before ? Effect.succeed(answer) : Effect.as(log.synced, answer)
      )
    }),
  transaction: (operation) =>
    Effect.flatMap(Durable, (isDurable) => {
      if (!isDurable) return operation
      const before = countChanges()
      return Effect.flatMap(operation, (answer) => Effect.as(log.syncedTo(before, countChanges()), answer))
    })
})

/**
 * How long to wait before the log is rewritten after a failure, in milliseconds: each time twice as long, up to the limit. A
 * short limit, because every publication is refused for as long as that after the disk is well again.
 */
const mendPause = 1_000
const maxMendPause = 4_000

/** Has SQLite refuse all changes, and move nothing from the log to the database before it is whole on disk. */
export const refuseChanges = (db: DatabaseSync): void =>
  db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA query_only = ON")

const takeChanges = (db: DatabaseSync): void => db.exec("PRAGMA query_only = OFF; PRAGMA wal_autocheckpoint = 1000")

/**
 * Rewrites the log, all of it; false when a part that SQLite has in use can't be read back. A commit shows that: it moves
 * the place up to which the log can be read back only if everything before it is as it was written. It sets
 * `user_version` to the value that it has, because the file may turn out to be another application's. The caller must have
 * turned checkpoints off, which would move unreadable parts into the database.
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
 * Has a log on disk that another process, or an abandoned connection of this one, may have left unsynced. False when a part
 * of it can't be read back; where another connection is open, SQLite does not notice that. When it fails to sync the log,
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

/** Waits for syncs that fail, and has the log on disk after each. Never ends, unless the log is lost. */
export const mendLog = <R>(options: {
  readonly db: DatabaseSync
  readonly log: LogSync
  /** Whose turn it is on the connection. */
  readonly semaphore: Semaphore.Semaphore
  /** Open while there is a failure. */
  readonly failing: Latch.Latch
  readonly countChanges: () => number
  /** What to do when the log can't be read back. */
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
