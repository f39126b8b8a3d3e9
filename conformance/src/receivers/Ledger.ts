/**
 * What the bundled receivers know, in SQLite: which keys they have seen, and what they did. Effects have no unique
 * constraint, so that a double effect can be seen.
 */
import { DatabaseSync } from "node:sqlite"

interface Effect {
  readonly id: string
  /** The URL's path it came to. */
  readonly scope: string
  /** The body as the receiver stored it. */
  readonly stored: string
}

export interface Ledger {
  /** Whether the key is marked as seen. */
  readonly isKnown: (key: string) => boolean
  /** Marks the key; whether it was not marked before. */
  readonly mark: (key: string, at: number) => boolean
  readonly unmark: (key: string) => void
  /** Forgets keys that were marked before a time. */
  readonly forgetBefore: (at: number) => void
  /** Forgets all but the last so many keys. */
  readonly forgetAllBut: (count: number) => void
  readonly act: (effect: Effect) => void
  /** Marks the key and acts, both or neither; whether the key was new. */
  readonly once: (key: string, effect: Effect, at: number) => boolean
  /** How often it acted; in one scope, or in all of them. */
  readonly count: (id: string, scope: string | null) => number
  /** What was stored first; null when nothing was. */
  readonly stored: (id: string, scope: string | null) => string | null
  /** Replaces what was stored. */
  readonly restore: (effect: Effect) => void
  /** Acts once more for each effect there is. */
  readonly repeatAll: () => void
  /** Forgets everything. */
  readonly wipe: () => void
  readonly close: () => void
}

const schema = `
CREATE TABLE IF NOT EXISTS seen (key TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL, scope TEXT NOT NULL, stored TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS effects_by_id ON effects (id, scope);`

/** Opens a file, or memory with `:memory:`. */
export const openLedger = (file: string): Ledger => {
  const database = new DatabaseSync(file)
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 3000;")
  database.exec(schema)
  const prepared = {
    known: database.prepare("SELECT 1 FROM seen WHERE key = ?"),
    mark: database.prepare("INSERT INTO seen (key, at) VALUES (?, ?) ON CONFLICT DO NOTHING"),
    unmark: database.prepare("DELETE FROM seen WHERE key = ?"),
    before: database.prepare("DELETE FROM seen WHERE at < ?"),
    last: database.prepare("DELETE FROM seen WHERE rowid NOT IN (SELECT rowid FROM seen ORDER BY rowid DESC LIMIT ?)"),
    act: database.prepare("INSERT INTO effects (id, scope, stored) VALUES (?, ?, ?)"),
    count: database.prepare("SELECT count(*) AS n FROM effects WHERE id = ? AND (? IS NULL OR scope = ?)"),
    stored: database.prepare(
      "SELECT stored FROM effects WHERE id = ? AND (? IS NULL OR scope = ?) ORDER BY rowid LIMIT 1"
    ),
    restore: database.prepare("UPDATE effects SET stored = ? WHERE id = ? AND scope = ?")
  }
  const mark = (key: string, at: number): boolean => prepared.mark.run(key, at).changes === 1
  const act = ({ id, scope, stored }: Effect): void => void prepared.act.run(id, scope, stored)
  return {
    isKnown: (key) => prepared.known.get(key) !== undefined,
    mark,
    unmark: (key) => void prepared.unmark.run(key),
    forgetBefore: (at) => void prepared.before.run(at),
    forgetAllBut: (count) => void prepared.last.run(count),
    act,
    once: (key, effect, at) => {
      database.exec("BEGIN IMMEDIATE")
      try {
        const isNew = mark(key, at)
        if (isNew) act(effect)
        database.exec("COMMIT")
        return isNew
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK")
        throw error
      }
    },
    count: (id, scope) => Number(prepared.count.get(id, scope, scope)?.["n"]),
    stored: (id, scope) => {
      const row = prepared.stored.get(id, scope, scope)
      return row === undefined ? null : String(row["stored"])
    },
    restore: ({ id, scope, stored }) => void prepared.restore.run(stored, id, scope),
    repeatAll: () => database.exec("INSERT INTO effects SELECT id, scope, stored FROM effects"),
    wipe: () => database.exec("DELETE FROM seen; DELETE FROM effects"),
    close: () => database.close()
  }
}
