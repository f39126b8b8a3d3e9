/**
 * Whose a SQLite file is: one process delivers from it. A second one would send with settings of its own what the first
 * one accepted, and ask another directory for rights.
 *
 * The owner holds a lock of SQLite's own on a small file beside the database. It ends with its process, however that ends,
 * so that a restart after `kill -9` finds it free; and it holds between containers on one disk, where process ids say
 * nothing. The database itself stays open to whoever reads it, copies it, or looks at it.
 *
 * The lock goes by the name of the database. A database with two names (hard links) is refused: SQLite keeps a log beside
 * each name, and either would miss what is in the other. An owner whose lock file is removed makes it again within a
 * second; a process that finds none beside a database in use waits for that.
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
import { checkNoFolder } from "./DatabaseFile.ts"

/** How long one that stops may take to let go before the next is refused, in milliseconds, and how often it is asked. */
const patience = 5_000
const step = 50

/** How often an owner looks for its lock file, and how long another process waits for that to be made again, in milliseconds. */
const watchPause = 1_000
const comesBack = 2_500

const Owner = Schema.Struct({ pid: Schema.Int, host: Schema.String, since: Schema.String })
type Owner = typeof Owner.Type

/** Somebody else holds the lock; who, if they had the time to say so. */
class Taken extends Schema.TaggedError<Taken>()("Taken", { owner: Schema.NullOr(Owner) }) {}

/** The path of a database without symbolic links: its log and its lock are beside that. */
const realPathOf = (database: string): string =>
  existsSync(database)
    ? realpathSync(database)
    : Path.join(realpathSync(Path.dirname(database)), Path.basename(database))

const lockOf = (database: string): string => `${realPathOf(database)}-lock`

/** Fails when a file has other names than this one. */
export const checkOneName = (database: string): Effect.Effect<void, DatabaseUnusable> =>
  Effect.suspend(() => {
    const names = statSync(database, { throwIfNoEntry: false })?.nlink ?? 1
    return names <= 1
      ? Effect.void
      : Effect.fail(
          new DatabaseUnusable({
            database,
            why: "cannot_open",
            explanation: `the file has ${names} names (hard links), and a process that uses it by another name would not be seen. Remove the other names (find them with: find DIRECTORY -samefile ${database}); for a second name use a symbolic link, for a backup a copy.`
          })
        )
  })

/** Opens the lock's file. */
const open = (path: string): DatabaseSync => {
  SqliteFile.makeFile(path)
  return openDatabase(path, { timeout: 0 })
}

/** Who has left word in the file; null while that can't be read. */
const ownerIn = (lock: DatabaseSync): Owner | null => {
  try {
    const { host, pid, since } = lock.prepare("SELECT pid, host, since FROM owner").get() ?? {}
    const owner = { pid, host, since }
    return Schema.is(Owner)(owner) ? owner : null
  } catch {
    return null
  }
}

/** Runs statements under the lock; fails with whoever has it. */
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

/** Takes the lock, and leaves word of who has it: as long as nobody writes, others may read that. */
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
    explanation: `${nameOf(owner)} delivers from it, and a SQLite file belongs to one process alone. Stop that one, or give this one another database; several processes share one on PostgreSQL.`
  })

/** The file's folder is not there or not this user's, or the disk keeps no locks. */
const asUnusable = (database: string, cause: unknown): DatabaseUnusable => {
  const isFolder = Predicate.hasProperty(cause, "syscall")
  const said = Predicate.isError(cause) ? cause.message : String(cause)
  return new DatabaseUnusable({
    database,
    why: "cannot_open",
    explanation: isFolder
      ? "it can't be opened for writing. Check that its folder exists and that this user may write there."
      : `the lock beside it (${Path.basename(database)}-lock) can't be taken: ${said}. Check that this user may write it, and that the disk keeps locks. While nothing runs on the database it may be deleted.`,
    cause
  })
}

/** A lock of this process, and how many doorhooks use it: those of one process are one author's, and may share a file. */
interface Held {
  readonly path: string
  lock: DatabaseSync
  /** The lock's file, whatever is found at its path later. */
  identity: SqliteFile.FileIdentity | null
  users: number
}

const held = new Map<string, Held>()

const taken = (path: string): Pick<Held, "lock" | "identity"> => {
  const lock = take(path)
  return { lock, identity: SqliteFile.identityOf(path) }
}

/** Takes the lock again where its file was removed or replaced; says whether that was so. Fails with who has it now. */
const keep = (own: Held): boolean => {
  if (SqliteFile.isSameFile(own.identity, SqliteFile.identityOf(own.path))) return false
  const former = own.lock
  Object.assign(own, taken(own.path))
  former.close()
  return true
}

/** Takes the lock, or joins whoever of this process has it. */
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
 * Takes the lock until the scope is closed, and says whether it is the first to: each try by itself, so that whoever waits
 * between two can be interrupted.
 */
const attempt = (database: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => join(database),
      catch: (error) => (error instanceof Taken ? error : asUnusable(database, error))
    }),
    (own) => Effect.sync(() => leave(own))
  ).pipe(Effect.map((own) => ({ own, isFirst: own.users === 1 })))

/** Keeps the lock until another process has taken it, then fails. */
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
              `${own.path} was removed or replaced while ${database} was in use. It has been created again.`
            )
          : Effect.void
      }),
      // Retried if it can't be created: then no other process holds it.
      Effect.catchTag("DatabaseUnusable", ({ message }) => {
        if (message === logged) return Effect.void
        logged = message
        return Effect.logWarning(message)
      }),
      Effect.catchTag("Taken", ({ owner }) =>
        Effect.fail(
          new StoreLost({
            message: `The lock ${own.path} was removed or replaced while ${database} was in use, and ${nameOf(owner)} has taken it. This process accepts nothing more. Make sure that only one process uses the file, then start it again.`
          })
        )
      ),
      Effect.delay(watchPause),
      Effect.forever
    )
  })

/** A process that lives has its log open: one that does not find its lock file makes it again. */
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
              `${database} has a log but no lock file. Waiting ${comesBack} ms in case its owner recreates the lock.`
            ),
            Effect.sleep(comesBack)
          )
        : Effect.void
    )
  )

/** Tells why nothing happens for a while. */
const announceWait = (database: string) => (taken: Taken) =>
  Effect.logInfo(`${database} is in use by ${nameOf(taken.owner)} and is waited for ${patience / 1_000} s.`)

/** Owns a file; logs when another doorhook of the process does so already. */
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
            `Another doorhook of this process has ${database} open: both deliver from it, each with settings of its own. Close the one that is not needed (await doorhook.close()); where modules are loaded anew while the process runs, keep one on globalThis.`
          )
    ),
    Effect.map(({ own }) => own)
  )

/** The file of a setting, owned until the scope is closed. */
export class FileOwner extends Context.Service<
  FileOwner,
  {
    /** Fails when another process has the file. Never succeeds. */
    readonly evicted: Effect.Effect<never, StoreLost>
  }
>()("doorhook/service/FileOwner") {}

/** Nothing is owned where the database is no file. */
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

/** Who delivers from a file now, in words; null when nobody does. Changes nothing. */
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
