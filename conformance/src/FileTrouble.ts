/**
 * Why a file or a folder can't be used, in words: what core says of the platform's errors, of those of Node.js.
 */
import { Predicate } from "effect"

const words: ReadonlyMap<unknown, string> = new Map([
  ["ENOENT", "there is no such file or folder"],
  ["EACCES", "this user has no right to it"],
  ["EPERM", "this user has no right to it"],
  ["EISDIR", "it is a folder, not a file"],
  ["ENOTDIR", "a part of its path is a file, not a folder"],
  ["EEXIST", "it is a file, not a folder"],
  ["ENOSPC", "the disk is full"],
  ["EROFS", "the disk can only be read"]
])

/** What went wrong; the system's own words where there are no better ones. */
export const fileTroubleOf = (error: unknown): string =>
  (Predicate.hasProperty(error, "code") ? words.get(error.code) : undefined) ??
  (error instanceof Error ? error.message : String(error))

/** Whether it went wrong because there is no such thing. */
export const isMissing = (error: unknown): boolean => Predicate.hasProperty(error, "code") && error.code === "ENOENT"
