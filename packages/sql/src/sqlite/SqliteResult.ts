/**
 * What SQLite says of a failure: the extended result code, which Node.js gives with an error as `errcode`.
 */
import { Predicate } from "effect"

/** The extended result code of an error, 0 when it has none. */
export const resultCode = (error: unknown): number =>
  Predicate.hasProperty(error, "errcode") && Predicate.isNumber(error.errcode) ? error.errcode : 0

/** The result code without what extends it. */
export const primaryResultCode = (error: unknown): number => resultCode(error) & 0xff

/** SQLITE_BUSY: another connection holds the lock. */
export const isBusy = (error: unknown): boolean => primaryResultCode(error) === 5
