/**
 * Files that a flag names: why one can't be read or written, in the words of whoever named it, and whether one could be
 * written, before the work whose outcome goes there.
 */
import type { PlatformError } from "effect"
import { Effect, FileSystem, Option, Path, Predicate } from "effect"
import { CommandFailure } from "./CommandFailure.ts"

/** A file, and the flag that named it, as it was given. */
export interface NamedFile {
  readonly said: string
  readonly file: string
}

const missing = "there is no such file or folder"
const barred = "this user has no right to it"
const folder = "it is a folder, not a file"

const words: Readonly<Record<string, string>> = {
  NotFound: missing,
  PermissionDenied: barred,
  BadResource: folder,
  AlreadyExists: "it exists already"
}

/** By the system's codes, which Node.js gives, and the platform for what it has no tag for. */
const wordsOfCodes: Readonly<Record<string, string>> = {
  ENOENT: missing,
  EACCES: barred,
  EPERM: barred,
  EISDIR: folder,
  ENOTDIR: "a part of its path is a file, not a folder",
  ELOOP: "its links lead in a circle",
  EIO: "the disk can't be read or written",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "its name is too long",
  ENOSPC: "the disk is full",
  ENXIO: "nobody is at its other end",
  EROFS: "the disk can only be read",
  ESPIPE: "it is a pipe, not a file"
}

const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) ? cause.code : ""

/** Completes «... can't be read: »; the system's own words where there are no better ones. */
export const fileTrouble = ({ message, reason }: PlatformError.PlatformError): string =>
  wordsOfCodes[codeOf(reason.cause)] ?? words[reason._tag] ?? message

/** The same of an error of Node.js. */
export const fileTroubleOf = (error: unknown): string =>
  wordsOfCodes[codeOf(error)] ?? (Predicate.isError(error) ? error.message : String(error))

/** Fails when a file could not be written; `said` is the flag as it was given. Nothing is written. */
export const checkWritable = Effect.fnUntraced(function* (said: string, file: string) {
  const system = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const expected = (why: string): CommandFailure =>
    CommandFailure.usage(`${said}: expected a file that can be written; ${why}`)
  const folder = path.dirname(path.resolve(file))
  yield* Effect.mapError(system.access(folder, { writable: true }), (error) =>
    expected(`${folder}: ${fileTrouble(error)}`)
  )
  const known = yield* Effect.option(system.stat(file))
  if (Option.isNone(known)) return
  if (known.value.type === "Directory") return yield* expected("it is a folder")
  yield* Effect.mapError(system.access(file, { writable: true }), (error) => expected(fileTrouble(error)))
})

/**
 * Fails when two of some files are one: each would destroy what the other writes. What is no file, like `/dev/null`, takes
 * both.
 */
export const checkDifferent = Effect.fnUntraced(function* (files: ReadonlyArray<NamedFile>) {
  const system = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const known = new Map<string, string>()
  for (const { file, said } of files) {
    const place = path.resolve(file)
    const other = known.get(place)
    known.set(place, said)
    if (other === undefined) continue
    const found = yield* Effect.option(system.stat(place))
    if (Option.isSome(found) && found.value.type !== "File") continue
    return yield* CommandFailure.usage(`${said}: expected another file than that of ${other}`)
  }
})

/** Writes a file that a flag named. */
export const writeNamed = Effect.fnUntraced(function* (said: string, file: string, text: string) {
  const system = yield* FileSystem.FileSystem
  yield* Effect.mapError(system.writeFileString(file, text), (error) =>
    CommandFailure.usage(`${said}: ${file} can't be written: ${fileTrouble(error)}`)
  )
})
