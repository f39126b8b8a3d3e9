/**
 * Files of SQLite's are made before it opens them: by itself it would let others read them.
 */
import { closeSync, existsSync, openSync } from "node:fs"

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
