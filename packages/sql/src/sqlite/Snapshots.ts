/**
 * Reads of a file on a connection of their own, beside the one that changes it.
 *
 * To begin and end a read locks and unlocks the log, which takes longer than most reads. So all reads of one turn of the event
 * loop share a snapshot, and rows that were found by a key are kept until anything is committed. Nothing committed by this
 * process is ever missed: SQLite counts its changes. What another process commits is seen in the next turn.
 */
import type { DatabaseSync } from "node:sqlite"
import { makeCountChanges } from "./LogSync.ts"
import { openDatabase } from "./NodeSqlite.ts"

type Rows<A> = ReadonlyArray<A>

export interface Snapshots<A> {
  readonly db: DatabaseSync
  /** The rows of a query on `db`, which `run` reads. Throws what SQLite throws. */
  readonly rows: (sql: string, params: ReadonlyArray<unknown>, run: () => Rows<A>) => Rows<A>
  readonly close: () => void
}

/** The most rows that are kept. */
const maxKept = 5_000

/** Opens a connection for reads beside one that is open. */
export const openSnapshots = <A>(writer: DatabaseSync, filename: string, timeout: number): Snapshots<A> => {
  const db = openDatabase(filename, { readOnly: true, timeout })
  const begin = db.prepare("BEGIN")
  const commit = db.prepare("COMMIT")
  const dataVersion = db.prepare("PRAGMA data_version")
  const countChanges = makeCountChanges(writer)
  /** How many changes the other connection had made when the snapshot began; null without one. */
  let at: number | null = null
  /** Rows of queries by one key, and what they were read after. */
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
    // Left open where the last one failed at its first read, which another process can keep from the file.
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
        // What it has changed is committed without a further change.
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
