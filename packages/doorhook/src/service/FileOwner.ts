/**
 * Ownership of a SQLite file, so that only one process delivers from it. A second process would deliver the same
 * events, perhaps with other settings or another directory.
 *
 * The owner holds a SQLite lock on a small file beside the database. The lock always ends with the process, so a
 * restart after `kill -9` succeeds. The lock also works between containers that share a disk but not their process ids.
 * Other processes can still read, copy and inspect the database.
 *
 * The lock file is named after the database. A database with several names (hard links) is refused, because SQLite
 * would keep a separate log, with only some of the changes, for each name. If the lock file is removed, the owner
 * recreates it within a second. A process that finds a log but no lock file waits in case an owner recreates the lock
 * file.
 */
import { StoreLost } from "@doorhook/core"
import { DatabaseUnusable, openDatabase, SqliteFile, SqliteResult } from "@doorhook/sql"
import { Context, Effect, Layer, Predicate, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { existsSync, realpathSync, statSync } from "node:fs"
import { hostname } from "node:os"
import * as Path from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { defaultDatabase, isFile } from "./Database.ts"
import { checkNoFolder } from "./DatabaseInspection.ts"

/**
 * Maximum time that a starting process waits for another owner to release the lock, and the time between its tries, in
 * milliseconds.
 */
const patience = 5_000
const step = 50

/**
 * Time between an owner's checks of its lock file, and how long another process waits for a missing lock file to be
 * recreated, in milliseconds.
 */
const watchPause = 1_000
const recreationWait = 2_500

const Owner = Schema.Struct({ pid: Schema.Int, host: Schema.String, since: Schema.String })
type Owner = typeof Owner.Type

/** Error if another process holds the lock. `owner` is null if that process has not written its record yet. */
class Taken extends Schema.TaggedError<Taken>()("Taken", { owner: Schema.NullOr(Owner) }) {}

/**
 * Returns the path of a database without symbolic links. SQLite keeps its log beside this path, and doorhook keeps its
 * lock file there.
 */
const realPathOf = (database: string): string =>
  existsSync(database)
    ? realpathSync(database)
    : Path.join(realpathSync(Path.dirname(database)), Path.basename(database))

const lockOf = (database: string): string => `${realPathOf(database)}-lock`

/** Fails if a file has several names (hard links). */
export const checkOneName = (database: string): Effect.Effect<void, DatabaseUnusable> =>
  Effect.suspend(() => {
    const names = statSync(database, { throwIfNoEntry: false })?.nlink ?? 1
    return names <= 1
      ? Effect.void
      : Effect.fail(
          new DatabaseUnusable({
            database,
            why: "cannot_open",
            explanation: `the file has ${names} names (hard links), so doorhook can't detect a process that uses the file by another name. Remove the other names (find them with: find DIRECTORY -samefile ${database}); for a second name, use a symbolic link; for a backup, use a copy.`
          })
        )
  })

/** Opens the lock file. */
const open = (path: string): DatabaseSync => {
  SqliteFile.makeFile(path)
  return openDatabase(path, { timeout: 0 })
}

/** Returns the owner recorded in the lock file; null if the record can't be read. */
const ownerIn = (lock: DatabaseSync): Owner | null => {
  try {
    const { host, pid, since } = lock.prepare("SELECT pid, host, since FROM owner").get() ?? {}
    const owner = { pid, host, since }
    return Schema.is(Owner)(owner) ? owner : null
  } catch {
    return null
  }
}

/** Opens the lock file and runs statements on it. Throws `Taken` with the owner if another process holds the lock. */
const under = (path: string, run: (lock: DatabaseSync) => void): DatabaseSync => {
  const lock = open(path)
  try {
    run(lock)
    return lock
  } catch (error) {
    const failure = SqliteResult.isBusy(error) ? new Taken({ owner: ownerIn(lock) }) : error
    lock.close()
    throw failure
  }
}

/**
 * Takes the lock and records the owner. The lock is an open transaction without writes, so other processes can read the
 * record.
 */
const take = (path: string): DatabaseSync =>
  under(path, (lock) => {
    lock.exec(
      "CREATE TABLE IF NOT EXISTS owner (pid INTEGER, host TEXT, since TEXT); BEGIN IMMEDIATE; DELETE FROM owner"
    )
    lock.prepare("INSERT INTO owner VALUES (?, ?, ?)").run(process.pid, hostname(), new Date().toISOString())
    lock.exec("COMMIT; BEGIN IMMEDIATE")
  })

const nameOf = (owner: Owner | null): string => {
  if (owner === null) return "another process"
  return `process ${owner.pid}${owner.host === hostname() ? "" : ` on ${owner.host}`}, since ${owner.since},`
}

const refusal = (database: string, owner: Owner | null): DatabaseUnusable =>
  new DatabaseUnusable({
    database,
    why: "locked",
    explanation: `${nameOf(owner)} delivers from it, and only one process can use a SQLite file. Stop that process, or give this process another database. Several processes can share a PostgreSQL database.`
  })

/** Returns the error if the folder is missing or not accessible, or the disk has no file locks. */
const asUnusable = (database: string, cause: unknown): DatabaseUnusable => {
  const isFolder = Predicate.hasProperty(cause, "syscall")
  const said = Predicate.isError(cause) ? cause.message : String(cause)
  return new DatabaseUnusable({
    database,
    why: "cannot_open",
    explanation: isFolder
      ? "it can't be opened for writing. Check that its folder exists and that this user can write there."
      : `the lock beside it (${Path.basename(database)}-lock) can't be taken: ${said}. Check that this user can write it, and that the disk supports locks. The lock file can be deleted while no process uses the database.`,
    cause
  })
}

/** A lock that this process holds, and the number of doorhooks that share it. */
interface Held {
  readonly path: string
  lock: DatabaseSync
  /** Identity of the lock file, to detect that another file has replaced it. */
  identity: SqliteFile.FileIdentity | null
  users: number
}

const held = new Map<string, Held>()

const taken = (path: string): Pick<Held, "lock" | "identity"> => {
  const lock = take(path)
  return { lock, identity: SqliteFile.identityOf(path) }
}

/**
 * Takes the lock again if the lock file was removed or replaced. Returns whether it took the lock again. Throws `Taken`
 * with the new owner if another process has taken the lock.
 */
const keep = (own: Held): boolean => {
  if (SqliteFile.isSameFile(own.identity, SqliteFile.identityOf(own.path))) return false
  const former = own.lock
  Object.assign(own, taken(own.path))
  former.close()
  return true
}

/** Takes the lock, or shares it if this process has it already. */
const join = (database: string): Held => {
  const path = lockOf(database)
  const own = held.get(path) ?? { path, ...taken(path), users: 0 }
  own.users++
  held.set(path, own)
  return own
}

const leave = (own: Held): void => {
  own.users--
  if (own.users > 0) return
  held.delete(own.path)
  own.lock.close()
}

/**
 * Tries once to take the lock, and holds it until the scope is closed. `isFirst` says whether no other doorhook in this
 * process has the file open.
 */
const attempt = (database: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => join(database),
      catch: (error) => (error instanceof Taken ? error : asUnusable(database, error))
    }),
    (own) => Effect.sync(() => leave(own))
  ).pipe(Effect.map((own) => ({ own, isFirst: own.users === 1 })))

/** Checks the lock regularly. Fails when another process has taken it. */
const watch = (database: string, own: Held): Effect.Effect<never, StoreLost> =>
  Effect.suspend(() => {
    let logged: string | null = null
    return Effect.try({
      try: () => keep(own),
      catch: (error) => (error instanceof Taken ? error : asUnusable(database, error))
    }).pipe(
      Effect.flatMap((isNew) => {
        logged = null
        return isNew
          ? Effect.logWarning(
              `${own.path} was removed or replaced while ${database} was in use. It has been recreated.`
            )
          : Effect.void
      }),
      // The file could not be recreated, but no other process holds the lock. The next check tries again.
      Effect.catchTag("DatabaseUnusable", ({ message }) => {
        if (message === logged) return Effect.void
        logged = message
        return Effect.logWarning(message)
      }),
      Effect.catchTag("Taken", ({ owner }) =>
        Effect.fail(
          new StoreLost({
            message: `The lock ${own.path} was removed or replaced while ${database} was in use, and ${nameOf(owner)} has taken it. This process accepts no more requests. Make sure that only one process uses the database, then restart the process.`
          })
        )
      ),
      Effect.delay(watchPause),
      Effect.forever
    )
  })

/**
 * Waits for a missing lock file if the database has a log. A log may mean that an owner is running, which will recreate
 * the lock file.
 */
const awaitLock = (database: string): Effect.Effect<void, DatabaseUnusable> =>
  Effect.try({
    try: () => {
      const path = lockOf(database)
      return !held.has(path) && !existsSync(path) && existsSync(`${realPathOf(database)}-wal`)
    },
    catch: (error) => asUnusable(database, error)
  }).pipe(
    Effect.flatMap((isMissing) =>
      isMissing
        ? Effect.andThen(
            Effect.logInfo(
              `${database} has a log but no lock file. Waiting ${recreationWait} ms in case its owner recreates the lock.`
            ),
            Effect.sleep(recreationWait)
          )
        : Effect.void
    )
  )

/** Logs why the start waits. */
const announceWait = (database: string) => (taken: Taken) =>
  Effect.logInfo(
    `${database} is in use by ${nameOf(taken.owner)} so this start waits up to ${patience / 1_000} s for that process to stop.`
  )

/** Takes ownership of a file. Logs a warning if another doorhook in this process already has the file open. */
const acquire = (database: string): Effect.Effect<Held, DatabaseUnusable, Scope.Scope> =>
  checkNoFolder(database).pipe(
    Effect.andThen(checkOneName(database)),
    Effect.andThen(awaitLock(database)),
    Effect.andThen(attempt(database)),
    Effect.tapErrorTag("Taken", announceWait(database)),
    Effect.catchTag("Taken", () =>
      Effect.retry(attempt(database), {
        while: (error) => error._tag === "Taken",
        schedule: Schedule.spaced(step),
        times: patience / step
      })
    ),
    Effect.catchTag("Taken", ({ owner }) => Effect.fail(refusal(database, owner))),
    Effect.tap(({ isFirst }) =>
      isFirst
        ? Effect.void
        : Effect.logWarning(
            `Another doorhook in this process has ${database} open: both deliver from it, each with its own settings. Close the one that you don't need (await doorhook.close()). If modules are reloaded while the process runs, keep one doorhook on globalThis.`
          )
    ),
    Effect.map(({ own }) => own)
  )

/** Ownership of the configured database file until the scope is closed. */
export class FileOwner extends Context.Service<
  FileOwner,
  {
    /** Fails when another process has taken the file. Never succeeds. */
    readonly evicted: Effect.Effect<never, StoreLost>
  }
>()("doorhook/service/FileOwner") {}

/** Takes ownership of the configured file, if the database is a file. */
export const layer = ({
  database = defaultDatabase
}: {
  readonly database?: string | undefined
}): Layer.Layer<FileOwner, DatabaseUnusable> =>
  Layer.effect(
    FileOwner,
    isFile(database)
      ? Effect.map(acquire(database), (own) => FileOwner.of({ evicted: watch(database, own) }))
      : Effect.succeed(FileOwner.of({ evicted: Effect.never }))
  )

/** Describes the owner of a file; null if there is none. Changes nothing. */
export const holderOf = (database: string): Effect.Effect<string | null, DatabaseUnusable> =>
  Effect.try({
    try: () => {
      const path = lockOf(database)
      if (!existsSync(path)) return null
      under(path, (lock) => lock.exec("BEGIN IMMEDIATE; ROLLBACK")).close()
      return null
    },
    catch: (error) => (error instanceof Taken ? error : asUnusable(database, error))
  }).pipe(Effect.catchTag("Taken", ({ owner }) => Effect.succeed(nameOf(owner))))

/**
 * Explains which changes in the log of a file can't be read; null if there are none. Null also if a process owns the
 * file: it checked the log when it started, and is changing it now.
 */
export const lossOf = (database: string, accepted?: number): Effect.Effect<string | null, DatabaseUnusable> =>
  Effect.flatMap(holderOf(database), (owner) =>
    owner === null
      ? Effect.try({
          try: () => SqliteFile.lossOfLog(database, accepted),
          catch: (error) => asUnusable(database, error)
        })
      : Effect.succeed(null)
  )
