/**
 * Why a file can't be read or written, in the words of whoever named it.
 */
import type { PlatformError } from "effect"

const words: Readonly<Record<string, string>> = {
  NotFound: "there is no such file or folder",
  PermissionDenied: "this user has no right to it",
  BadResource: "it is a folder, not a file",
  AlreadyExists: "it exists already"
}

/** Completes «... can't be read: »; the system's own words where there are no better ones. */
export const fileTrouble = ({ message, reason }: PlatformError.PlatformError): string => words[reason._tag] ?? message
