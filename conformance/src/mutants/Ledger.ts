/**
 * What a receiver keeps: in one SQLite database the marks of the kit's store, and effects, which have no unique
 * constraint, so that a double effect can be seen.
 */
import { parseEvent, receiverSchema } from "@doorhook/receiver"
import { createHash } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import { canonical } from "../history/Json.ts"

interface StoredEffect {
  readonly id: string
  /** The path of the URL it came to. */
  readonly scope: string
  /** The body as the receiver stored it. */
  readonly stored: string
}

export interface Ledger {
  readonly database: DatabaseSync
  /** Whether the key is marked as seen. */
  readonly isKnown: (key: string) => boolean
  /** Marks the key; whether it was not marked before. */
  readonly mark: (key: string, at: number) => boolean
  /** Forgets keys: a condition on the rows of marks, with `?` for each value. */
  readonly forget: (condition: string, ...values: ReadonlyArray<string | number>) => void
  readonly act: (effect: StoredEffect) => void
  /** How often it acted; in one scope, or in all of them. */
  readonly count: (id: string, scope: string | null) => number
  /** What was stored first; null when nothing was. */
  readonly stored: (id: string, scope: string | null) => string | null
  /** Replaces what was stored. */
  readonly restore: (effect: StoredEffect) => void
  readonly close: () => void
}

const schema = `
CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL, scope TEXT NOT NULL, stored TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS effects_by_id ON effects (id, scope);`

/** Opens a file, or memory with `:memory:`. */
export const openLedger = (file: string): Ledger => {
  const database = new DatabaseSync(file)
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 3000;")
  database.exec(receiverSchema + schema)
  const marks = "doorhook_deliveries"
  const prepared = {
    known: database.prepare(`SELECT 1 FROM ${marks} WHERE key = ?`),
    mark: database.prepare(
      `INSERT INTO ${marks} (key, id, attempt, body, received_at) VALUES (?, '', 1, '', ?) ON CONFLICT DO NOTHING`
    ),
    act: database.prepare("INSERT INTO effects (id, scope, stored) VALUES (?, ?, ?)"),
    count: database.prepare("SELECT count(*) AS n FROM effects WHERE id = ? AND (? IS NULL OR scope = ?)"),
    stored: database.prepare(
      "SELECT stored FROM effects WHERE id = ? AND (? IS NULL OR scope = ?) ORDER BY rowid LIMIT 1"
    ),
    restore: database.prepare("UPDATE effects SET stored = ? WHERE id = ? AND scope = ?")
  }
  return {
    database,
    isKnown: (key) => prepared.known.get(key) !== undefined,
    mark: (key, at) => prepared.mark.run(key, at).changes === 1,
    forget: (condition, ...values) => void database.prepare(`DELETE FROM ${marks} WHERE ${condition}`).run(...values),
    act: ({ id, scope, stored }) => void prepared.act.run(id, scope, stored),
    count: (id, scope) => Number(prepared.count.get(id, scope, scope)?.["n"]),
    stored: (id, scope) => {
      const row = prepared.stored.get(id, scope, scope)
      return row === undefined ? null : String(row["stored"])
    },
    restore: ({ id, scope, stored }) => void prepared.restore.run(stored, id, scope),
    close: () => database.close()
  }
}

/** What the probe says of a stored body: its data, and the SHA-256 of the RFC 8785 form of that; null where it holds no event. */
export const shownOf = (stored: string): { readonly data: unknown; readonly digest: string } | null => {
  const read = parseEvent(Buffer.from(stored))
  if ("wrong" in read) return null
  const { data } = read.event
  return { data, digest: `sha256:${createHash("sha256").update(canonical(data)).digest("hex")}` }
}
