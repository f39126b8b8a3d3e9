/**
 * Syncs the write-ahead log of a file to disk while the process goes on.
 *
 * SQLite's own way, `synchronous = FULL`, stops the thread at each commit until the disk has answered, which takes from a
 * fraction of a millisecond to tens of them. With `NORMAL` it only writes the log at a commit, and syncs it (and the order
 * of everything else) where the file could break otherwise: sqlite.org/pragma.html#pragma_synchronous. What a power cut
 * could take are the commits since the log's last sync, and that is done here, before a commit is answered for: one sync
 * serves all commits that came before it.
 */
import { Effect } from "effect"
import { SqlError } from "effect/sql"
import { close, fdatasync, open } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { Durable } from "../Durability.ts"

type Waiter = (done: Effect.Effect<void, SqlError.SqlError>) => void

const failure = (cause: unknown): SqlError.SqlError =>
  new SqlError.SqlError({
    // The commit was made, and may be lost all the same.
    reason: new SqlError.ConnectionError({ message: "Failed to sync the log to disk", cause, operation: "sync" })
  })

export class LogSync {
  private readonly path: string
  private descriptor: number | null = null
  private isSyncing = false
  private waiting: Array<Waiter> = []

  constructor(filename: string) {
    this.path = `${filename}-wal`
  }

  /** Waits until all that is committed now is on disk. */
  readonly synced: Effect.Effect<void, SqlError.SqlError> = Effect.callback((resume) => {
    this.waiting.push(resume)
    if (!this.isSyncing) this.sync()
  })

  /** Syncs for those who wait now. Whoever comes meanwhile may have committed too late for it, and has the next one. */
  private sync(): void {
    const served = this.waiting
    this.waiting = []
    this.isSyncing = true
    this.withDescriptor((error, descriptor) => {
      if (error !== null) this.end(served, error)
      else fdatasync(descriptor, (failed) => this.end(served, failed))
    })
  }

  private end(served: ReadonlyArray<Waiter>, error: Error | null): void {
    this.isSyncing = false
    const done = error === null ? Effect.void : Effect.fail(failure(error))
    for (const resume of served) resume(done)
    if (this.waiting.length > 0 && !this.isSyncing) this.sync()
  }

  /** SQLite keeps the log from its first use until the last connection closes, which is ours or a later one. */
  private withDescriptor(use: (...opened: [Error, null] | [null, number]) => void): void {
    if (this.descriptor !== null) return use(null, this.descriptor)
    open(this.path, "r+", (error, descriptor) => {
      if (error !== null) return use(error, null)
      this.descriptor = descriptor
      use(null, descriptor)
    })
  }

  /** Finishes what is under way. Nothing is committed after it. */
  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    this.isSyncing ? Effect.andThen(Effect.ignore(this.synced), this.closeDescriptor) : this.closeDescriptor
  )

  private readonly closeDescriptor: Effect.Effect<void> = Effect.callback((resume) => {
    const { descriptor } = this
    this.descriptor = null
    if (descriptor === null) resume(Effect.void)
    else close(descriptor, () => resume(Effect.void))
  })
}

/** Has what an operation changed on disk before it is answered, where that has to be. */
export type Durably = <A, E, R>(operation: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>

/** Without a log of its own to sync, SQLite does by itself what has to be done. */
export const alreadyDurable: Durably = (operation) => operation

/** What only reads does not wait. A transaction counts what others change meanwhile as its own: it may wait without need. */
export const makeDurably = (db: DatabaseSync, log: LogSync): Durably => {
  // How many rows the connection has changed so far: sqlite.org/lang_corefunc.html#total_changes
  const changes = db.prepare("SELECT total_changes()")
  const countChanges = (): unknown => Object.values(changes.get() ?? {})[0]
  return (operation) =>
    Effect.flatMap(Durable, (isDurable) => {
      if (!isDurable) return operation
      const before = countChanges()
      return Effect.flatMap(operation, (answer) =>
        countChanges() === before ? Effect.succeed(answer) : Effect.as(log.synced, answer)
      )
    })
}
