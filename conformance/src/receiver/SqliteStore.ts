/**
 * A store in SQLite, on node:sqlite: the host's own database, so that what it records and the mark of the delivery are
 * one transaction.
 */
import type { DatabaseSync } from "node:sqlite"
import { readEvent } from "./Delivery.ts"
import type { ReceiverStore, Waiting } from "./Store.ts"

/** `record` must be done when it returns: a transaction of node:sqlite is not to be left open across an await. */
export const sqliteSchema = `
CREATE TABLE IF NOT EXISTS doorhook_deliveries (
  id TEXT PRIMARY KEY,
  attempt INTEGER NOT NULL,
  body TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  due_at INTEGER,              -- null: nothing is to be done any more
  failures INTEGER NOT NULL DEFAULT 0,
  last_failure TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS doorhook_deliveries_due ON doorhook_deliveries (due_at) WHERE due_at IS NOT NULL;`

const waitingOf = (row: Readonly<Record<string, unknown>>): Waiting => {
  const { attempt, body, failures, id, received_at } = row
  const read = readEvent(Buffer.from(String(body)))
  if (typeof read === "string") throw new Error(`delivery ${String(id)} in the database can't be read: ${read}`)
  return {
    delivery: { id: String(id), attempt: Number(attempt), receivedAt: Number(received_at), ...read },
    failures: Number(failures)
  }
}

export const sqliteStore = (database: DatabaseSync): ReceiverStore<DatabaseSync> => {
  // FULL: a kept delivery survives the loss of power, not only the end of the process.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 3000;")
  database.exec(sqliteSchema)
  const insert = database.prepare(
    "INSERT INTO doorhook_deliveries (id, attempt, body, received_at, due_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
  )
  const selectDue = database.prepare(
    "SELECT id, attempt, body, received_at, failures FROM doorhook_deliveries WHERE due_at <= ? ORDER BY due_at, received_at LIMIT ?"
  )
  const selectNext = database.prepare("SELECT min(due_at) AS due_at FROM doorhook_deliveries WHERE due_at IS NOT NULL")
  const setDone = database.prepare("UPDATE doorhook_deliveries SET due_at = NULL WHERE id = ?")
  const setFailed = database.prepare(
    "UPDATE doorhook_deliveries SET failures = failures + 1, last_failure = ?, due_at = ? WHERE id = ?"
  )
  return {
    keep: async ({ attempt, body, id, receivedAt }, record, wantsWork) => {
      database.exec("BEGIN IMMEDIATE")
      try {
        const isNew = insert.run(id, attempt, body, receivedAt, wantsWork ? receivedAt : null).changes === 1
        const recording = isNew ? record(database) : undefined
        if (recording instanceof Promise) {
          // What becomes of it does not matter: nothing is kept.
          recording.catch(() => undefined)
          throw new Error("with sqliteStore, `record` must not return a promise: do asynchronous work in `work`")
        }
        database.exec("COMMIT")
        return isNew
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK")
        throw error
      }
    },
    due: async (now, limit) => selectDue.all(now, limit).map(waitingOf),
    nextDue: async () => {
      const due = selectNext.get()?.["due_at"] ?? null
      return due === null ? null : Number(due)
    },
    done: async (id) => void setDone.run(id),
    failed: async (id, why, dueAt) => void setFailed.run(why, dueAt, id)
  }
}
