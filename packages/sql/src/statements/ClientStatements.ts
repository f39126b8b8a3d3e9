/**
 * Statements on registered clients, in every dialect. Each is one search by id, or walks the table, which is small.
 */
import type { Dialect } from "../Dialect.ts"

const columns = "id, name, redirect_uris, secrets, created_at"

export const clientStatements = ({ text }: Dialect) => ({
  /** Returns the id if there was none of it. */
  insert: text(`INSERT INTO clients (${columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id`),
  byId: text(`SELECT ${columns} FROM clients WHERE id = ?`),
  all: text(`SELECT ${columns} FROM clients ORDER BY id`),
  /** Returns the id if there is one with the secrets that it was found with, which are written one way only. */
  replaceSecrets: text(`UPDATE clients SET secrets = ? WHERE id = ? AND secrets = ? RETURNING id`),
  remove: text(`DELETE FROM clients WHERE id = ? RETURNING id`)
})
