/**
 * Whose a SQLite file is: one process delivers from it. A second one would send with settings of its own what the first
 * one accepted, and ask another directory for rights.
 *
 * The owner holds a lock of SQLite's own on a small file beside the database. It ends with its process, however that ends,
 * so that a restart after `kill -9` finds it free; and it holds between containers on one disk, where process ids say
 * nothing. The database itself stays open to whoever reads it, copies it, or looks at it.
 */
import { DatabaseUnusable, openDatabase, SqliteFile, SqliteResult } from "@doorhook/sql"
import { Context, Effect, Layer, Predicate, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { existsSync, realpathSync } from "node:fs"
import { hostname } from "node:os"
import * as Path from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { defaultDatabase, isFile } from "./Database.ts"
import { checkNoFolder } from "./DatabaseFile.ts"

/** How long one that stops may take to let go before the next is refused, in milliseconds, and how often it is asked. */
const patience = 5_000
const step = 50

const Owner = Schema.Struct({ pid: Schema.Int, host: Schema.String, since: Schema.String })
type Owner = typeof Owner.Type

/** Somebody else holds the lock; who, if they had the time to say so. */
class Taken extends Schema.TaggedError<Taken>()("Taken", { owner: Schema.NullOr(Owner) }) {}

/** Where the lock is: one place for all names of a file. */
const lockOf = (database: string): string =>
  `${existsSync(database) ? realpathSync(database) : Path.join(realpathSync(Path.dirname(database)), Path.basename(database))}-lock`

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
  readonly lock: DatabaseSync
  users: number
}

const held = new Map<string, Held>()

/** Takes the lock, or joins whoever of this process has it. */
const join = (database: string): Held => {
  const path = lockOf(database)
  const own = held.get(path) ?? { path, lock: take(path), users: 0 }
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
  ).pipe(Effect.map(({ users }) => users === 1))

/** Tells why nothing happens for a while. */
const announceWait = (database: string) => (taken: Taken) =>
  Effect.logInfo(`${database} is in use by ${nameOf(taken.owner)} and is waited for ${patience / 1_000} s.`)

/** Owns a file, and says whether this is the first doorhook of the process to do so. */
const acquire = (database: string): Effect.Effect<boolean, DatabaseUnusable, Scope.Scope> =>
  checkNoFolder(database).pipe(
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
    Effect.tap((isFirst) =>
      isFirst
        ? Effect.void
        : Effect.logWarning(
            `Another doorhook of this process has ${database} open: both deliver from it, each with settings of its own. Close the one that is not needed (await doorhook.close()); where modules are loaded anew while the process runs, keep one on globalThis.`
          )
    )
  )

/** The file of a setting, owned until the scope is closed. */
export class FileOwner extends Context.Service<
  FileOwner,
  {
    /** Whether nobody of this process had the file before: whoever held something in it is dead. */
    readonly isFirst: boolean
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
      ? Effect.map(acquire(database), (isFirst) => FileOwner.of({ isFirst }))
      : Effect.succeed(FileOwner.of({ isFirst: true }))
  )

/** Who delivers from a file now, in words; null when nobody does. Changes nothing. */
export const whoseIs = (database: string): Effect.Effect<string | null, DatabaseUnusable> =>
  Effect.try({
    try: () => {
      const path = lockOf(database)
      if (!existsSync(path)) return null
      under(path, (lock) => lock.exec("BEGIN IMMEDIATE; ROLLBACK")).close()
      return null
    },
    catch: (error) => (error instanceof Taken ? error : asUnusable(database, error))
  }).pipe(Effect.catchTag("Taken", ({ owner }) => Effect.succeed(nameOf(owner))))
