/**
 * Files of SQLite's are made before it opens them: by itself it would let others read them.
 */
import { closeSync, existsSync, openSync, statSync } from "node:fs"

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
