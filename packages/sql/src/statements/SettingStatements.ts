/**
 * Statements on settings, in every dialect. Each is one search by name.
 */
import type { Dialect } from "../Dialect.ts"

export const settingStatements = ({ text }: Dialect) => ({
  /** Stores a setting unless there is one. Returns it if it was stored. */
  insert: text(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING RETURNING value`),
  byName: text(`SELECT value FROM settings WHERE name = ?`)
})
