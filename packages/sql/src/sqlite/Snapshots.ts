/**
 * Reads a file on a separate connection from the one that writes.
 *
 * Each read transaction locks and unlocks the log, which takes longer than most reads. All reads in one turn of the
 * event loop therefore share a snapshot, and rows found by a key are cached until the next commit. A read sees all
 * earlier commits of this process, because SQLite counts its changes. It sees commits of other processes from the next
 * turn on.
 */
import type { DatabaseSync } from "node:sqlite"
import { makeCountChanges } from "./LogSync.ts"
import { openDatabase } from "./NodeSqlite.ts"

type Rows<A> = ReadonlyArray<A>

export interface Snapshots<A> {
  readonly db: DatabaseSync
  /** Returns the rows of a query, from the cache or by `run`. Throws SQLite's errors. */
  readonly rows: (sql: string, params: ReadonlyArray<unknown>, run: () => Rows<A>) => Rows<A>
  readonly close: () => void
}

/** Maximum number of cached rows. */
const maxKept = 5_000

/** Opens a connection for reads in addition to the writer's. */
export const openSnapshots = <A>(writer: DatabaseSync, filename: string, timeout: number): Snapshots<A> => {
  const db = openDatabase(filename, { readOnly: true, timeout })
  const begin = db.prepare("BEGIN")
  const commit = db.prepare("COMMIT")
  const dataVersion = db.prepare("PRAGMA data_version")
  const countChanges = makeCountChanges(writer)
  /** The writer's change count when the snapshot began; null without a snapshot. */
  let at: number | null = null
  /** Cached rows by statement and key, and the versions at which they were read. */
  const kept = new Map<string, Map<unknown, Rows<A>>>()
  let keptCount = 0
  let keptAt = -1
  let keptVersion = -1

  const forget = (): void => {
    kept.clear()
    keptCount = 0
  }

  const end = (): void => {
    if (at === null) return
    at = null
    if (db.isTransaction) commit.run()
  }

  const start = (changes: number): void => {
    end()
    // The last snapshot may have been left open, if another process blocked its first read.
    if (db.isTransaction) commit.run()
    begin.run()
    const version = Number(dataVersion.get()?.["data_version"])
    if (version !== keptVersion || changes !== keptAt) forget()
    keptVersion = version
    keptAt = changes
    at = changes
    setImmediate(end)
  }

  const keep = (sql: string, key: unknown, rows: Rows<A>): void => {
    if (keptCount >= maxKept) forget()
    const ofStatement = kept.get(sql) ?? new Map<unknown, Rows<A>>()
    kept.set(sql, ofStatement.set(key, rows))
    keptCount++
  }

  return {
    db,
    rows: (sql, params, run) => {
      const changes = countChanges()
      if (at !== changes) start(changes)
      if (writer.isTransaction) {
        // Committing the open transaction does not increase the change count, so reads of its changes must not be
        // cached.
        try {
          return run()
        } finally {
          end()
          forget()
        }
      }
      const [key] = params
      const known = params.length === 1 ? kept.get(sql)?.get(key) : undefined
      if (known !== undefined) return known
      const rows = run()
      if (params.length === 1 && rows.length <= 1) keep(sql, key, rows)
      return rows
    },
    close: () => {
      end()
      db.close()
    }
  }
}
