/**
 * Statements on settings. The cost of each is one search by name, unless its comment says otherwise.
 */
import type { Dialect } from "../Dialect.ts"

export const settingStatements = ({ text }: Dialect) => ({
  /** Stores a setting unless it exists. Returns its value if it was stored. */
  insert: text(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING RETURNING value`),
  byName: text(`SELECT value FROM settings WHERE name = ?`),

  /** Stores or replaces a setting. */
  put: text(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`),

  /** Replaces a setting if it has not changed. */
  replace: text(`UPDATE settings SET value = ? WHERE name = ? AND value = ?`),

  /** A few encrypted settings. Cost: a scan of the small table, once when the database is opened or inspected. */
  someSealed: text(`SELECT value AS sealed FROM settings WHERE value LIKE ? LIMIT 10`)
})
