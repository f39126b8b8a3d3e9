/**
 * Statements on settings. Each is one search by name.
 */
import type { Dialect } from "../Dialect.ts"

export const settingStatements = ({ text }: Dialect) => ({
  /** Stores a setting unless it exists. Returns it if it was stored. */
  insert: text(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING RETURNING value`),
  byName: text(`SELECT value FROM settings WHERE name = ?`),

  /** Stores or replaces a setting. */
  put: text(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`),

  /** Replaces a setting if it has not changed. */
  replace: text(`UPDATE settings SET value = ? WHERE name = ? AND value = ?`),

  /** Some encrypted settings. Scans the table, which is small, once when the database is opened. */
  someSealed: text(`SELECT value FROM settings WHERE value LIKE ? LIMIT 10`)
})
