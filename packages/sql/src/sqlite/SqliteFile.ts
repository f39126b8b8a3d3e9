/**
 * Files of SQLite's are made before it opens them: by itself it would let others read them.
 */
import { closeSync, existsSync, openSync, realpathSync, statSync } from "node:fs"
import * as LogFrames from "./LogFrames.ts"

/**
 * Makes a file that its owner alone can read. One that is there is left alone, and not even opened: to close a descriptor
 * beside SQLite's own gives up all locks that this process has on it (sqlite.org/howtocorrupt.html, section 2.2).
 */
export const makeFile = (path: string): void => {
  try {
    closeSync(openSync(path, "ax", 0o600))
  } catch (error) {
    if (!existsSync(path)) throw error
  }
}

/** What a name stands for, whatever else stands there later: a device and a file on it. Null where nothing is. */
export interface FileIdentity {
  readonly dev: bigint
  readonly ino: bigint
}

/** By name alone: opened and closed, a database would lose its locks. */
export const identityOf = (path: string): FileIdentity | null => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : { dev: found.dev, ino: found.ino }
}

export const isSameFile = (one: FileIdentity | null, other: FileIdentity | null): boolean =>
  one !== null && other !== null && one.dev === other.dev && one.ino === other.ino

/**
 * What is wrong with the log beside a database, in a sentence or two that say what to do; null when nothing is. SQLite
 * would go on without what is in it, and without a word.
 */
export const flawOfLog = (database: string): string | null => {
  const log = `${existsSync(database) ? realpathSync(database) : database}-wal`
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return null
  const remedy = `Restore the database from a backup; or, to go on without what only the log holds, the last accepted events among it, move ${log} away`
  if ((statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0)
    return `the log beside it is there, but the database file is missing or empty. Put back the database file that belongs to the log. ${remedy}.`
  const descriptor = openSync(log, "r")
  try {
    return LogFrames.isReadable(descriptor)
      ? null
      : `the log beside it (${log}) is damaged: it does not begin as SQLite's logs do. ${remedy}.`
  } finally {
    closeSync(descriptor)
  }
}
