/**
 * Creates, identifies and checks database files.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync
} from "node:fs"
import * as LogFrames from "./LogFrames.ts"

/**
 * Creates a file that only its owner can read, unlike the files that SQLite creates. Does not open an existing file,
 * because closing a second descriptor would drop all locks of this process on the file (sqlite.org/howtocorrupt.html,
 * section 2.2).
 */
export const makeFile = (path: string): void => {
  try {
    closeSync(openSync(path, "ax", 0o600))
  } catch (error) {
    if (!existsSync(path)) throw error
  }
}

/** Size of the file with which `takeSpace` tests the disk, in bytes. */
const testSize = 65_536

/** Writes a file beside a database and removes it, to test whether the disk has room. */
export const takeSpace = (database: string | null): void => {
  if (database === null) return
  const path = `${database}-probe`
  rmSync(path, { force: true })
  const descriptor = openSync(path, "wx", 0o600)
  try {
    // Removed before it is written, so that a crash leaves nothing.
    rmSync(path)
    writeSync(descriptor, new Uint8Array(testSize))
  } finally {
    closeSync(descriptor)
  }
}

/** Device and inode, which identify a file even if its path later names another one. */
export interface FileIdentity {
  readonly dev: bigint
  readonly ino: bigint
}

/**
 * Returns the identity of the file at a path; null without a file. Does not open the file, because closing it would
 * drop this process's locks on it.
 */
export const identityOf = (path: string): FileIdentity | null => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : { dev: found.dev, ino: found.ino }
}

export const isSameFile = (one: FileIdentity | null, other: FileIdentity | null): boolean =>
  one !== null && other !== null && one.dev === other.dev && one.ino === other.ino

const logOf = (database: string): string => `${existsSync(database) ? realpathSync(database) : database}-wal`

/** Runs a function on a file. */
const onFile = <A>(path: string, mode: "r" | "r+", run: (descriptor: number) => A): A => {
  const descriptor = openSync(path, mode)
  try {
    return run(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Explains why transactions in a database's log can't be read, and what to do; null if all can be read. `accepted` is
 * the number of frames that may be lost. Only for a log that no process changes at the same time.
 */
export const lossOfLog = (database: string, accepted?: number): string | null => {
  const log = logOf(database)
  const lost = lostEndOf(log)
  if (lost === null || lost.frames === accepted) return null
  const other = accepted === undefined ? "" : `, not ${accepted}`
  return `the log beside it (${log}) is damaged: its last ${lost.frames} frames can't be read, and contain accepted events or other changes. Restore the database from a backup, or start once with --accept-lost-frames ${lost.frames} (setting acceptLostFrames${other}), which loses these changes and keeps the log as ${log}.damaged.`
}

const lostEndOf = (log: string): LogFrames.LostEnd | null =>
  existsSync(log) ? onFile(log, "r", LogFrames.lostEnd) : null

/**
 * Removes the unreadable end of a database's log, and keeps a copy of the log. Returns whether the log had one. Only for
 * the owner of the file.
 */
export const dropLostFrames = (database: string): boolean => {
  const log = logOf(database)
  const lost = lostEndOf(log)
  if (lost === null) return false
  copyFileSync(log, `${log}.damaged`)
  onFile(log, "r+", (descriptor) => {
    ftruncateSync(descriptor, lost.from)
    fsyncSync(descriptor)
  })
  return true
}

/**
 * Explains what is wrong with a database's log and what to do; null if nothing is wrong. SQLite itself silently ignores
 * a log that it can't use.
 */
export const flawOfLog = (database: string): string | null => {
  const log = logOf(database)
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return null
  const remedy = `Restore the database from a backup, or move ${log} away. Moving it loses the last accepted events and other changes that are only in the log`
  if ((statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0)
    return `the log beside it is there, but the database file is missing or empty. Put back the database file that belongs to the log. ${remedy}.`
  return onFile(log, "r", LogFrames.isReadable)
    ? null
    : `the log beside it (${log}) is damaged: it does not begin as SQLite's logs do. ${remedy}.`
}
