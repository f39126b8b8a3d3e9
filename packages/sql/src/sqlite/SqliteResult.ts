/**
 * Result codes of SQLite. Node.js gives an error's extended result code as `errcode`.
 */
import { Predicate } from "effect"

/** The primary result code of an error (sqlite.org/rescode.html); 0 if it has none. */
export const primaryResultCode = (error: unknown): number =>
  Predicate.hasProperty(error, "errcode") && Predicate.isNumber(error.errcode) ? error.errcode & 0xff : 0

/** SQLITE_BUSY: another connection holds the lock. */
export const isBusy = (error: unknown): boolean => primaryResultCode(error) === 5

/** SQLITE_READONLY: the connection may not write. */
export const isReadOnly = (error: unknown): boolean => primaryResultCode(error) === 8
