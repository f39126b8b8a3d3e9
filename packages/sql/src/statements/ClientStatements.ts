/**
 * Statements on registered clients. Each is one search by id, or scans the table, which is small.
 */
import type { Dialect } from "../Dialect.ts"

const columns = "id, name, redirect_uris, secrets, created_at"

export const clientStatements = ({ text }: Dialect) => ({
  /** Returns the id if it was free. */
  insert: text(`INSERT INTO clients (${columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id`),
  byId: text(`SELECT ${columns} FROM clients WHERE id = ?`),
  all: text(`SELECT ${columns} FROM clients ORDER BY id`),
  /** Returns the id if the client still has the expected secrets. Their encoding is deterministic, so texts are compared. */
  replaceSecrets: text(`UPDATE clients SET secrets = ? WHERE id = ? AND secrets = ? RETURNING id`),
  remove: text(`DELETE FROM clients WHERE id = ? RETURNING id`)
})
