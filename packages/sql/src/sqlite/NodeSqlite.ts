/**
 * Loads `node:sqlite` when a file is first opened. On a Node.js without it, a static import would end programs before
 * they can explain the problem, even programs that use only PostgreSQL.
 */
import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite"

/** Opens a database. Throws if this Node.js has no SQLite or the file can't be opened. */
export const openDatabase = (path: string, options: DatabaseSyncOptions): DatabaseSync => {
  // Node.js before 20.16 lacks `getBuiltinModule`.
  const sqlite = typeof process.getBuiltinModule === "function" ? process.getBuiltinModule("node:sqlite") : undefined
  if (sqlite === undefined) throw new Error(`SQLite needs Node.js 22.19 or later; this is ${process.versions.node}.`)
  return new sqlite.DatabaseSync(path, options)
}
