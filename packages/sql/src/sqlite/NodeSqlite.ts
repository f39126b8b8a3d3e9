/**
 * `node:sqlite`, loaded when a file is first opened: importing it would end programs on a Node.js that has none before they
 * can say so, those that use PostgreSQL only included.
 */
import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite"

/** Opens a database; throws when this Node.js has no SQLite or the file can't be opened. */
export const openDatabase = (path: string, options: DatabaseSyncOptions): DatabaseSync => {
  // Node.js before 20.16 cannot be asked.
  const sqlite = typeof process.getBuiltinModule === "function" ? process.getBuiltinModule("node:sqlite") : undefined
  if (sqlite === undefined) throw new Error(`SQLite needs Node.js 22.19 or later; this is ${process.versions.node}.`)
  return new sqlite.DatabaseSync(path, options)
}
