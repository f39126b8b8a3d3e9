/**
 * Files named by command-line flags. Explains why a file can't be read or written, and checks before a long job that
 * its result can be written.
 */
import type { PlatformError } from "effect"
import { Effect, FileSystem, Option, Path, Predicate, Schema } from "effect"

/** A file, and the flag that named it, as given. */
export interface NamedFile {
  readonly said: string
  readonly file: string
}

const missing = "there is no such file or folder"
const barred = "this user has no permission"
const folder = "it is a folder, not a file"

const words: Readonly<Record<string, string>> = {
  NotFound: missing,
  PermissionDenied: barred,
  BadResource: folder,
  AlreadyExists: "it exists already"
}

/** Texts for system error codes, as reported by Node.js. */
const wordsOfCodes: Readonly<Record<string, string>> = {
  ENOENT: missing,
  EACCES: barred,
  EPERM: barred,
  EISDIR: folder,
  ENOTDIR: "a part of its path is a file, not a folder",
  ELOOP: "its symbolic links form a loop",
  EIO: "the disk can't be read or written",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "its name is too long",
  ENOSPC: "the disk is full",
  ENXIO: "no process has its other end open",
  EROFS: "the disk is read-only",
  ESPIPE: "it is a pipe, not a file"
}

/** Returns the code of an error of the operating system or of Node.js, like `ENOENT`; empty if it has none. */
export const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) ? cause.code : ""

/** Returns the reason for a file error, to follow "... can't be read: ". Falls back to the system's own message. */
export const fileTrouble = ({ message, reason }: PlatformError.PlatformError): string =>
  wordsOfCodes[codeOf(reason.cause)] ?? words[reason._tag] ?? message

/** Like `fileTrouble`, for an error of Node.js. */
export const fileTroubleOf = (error: unknown): string =>
  wordsOfCodes[codeOf(error)] ?? (Predicate.isError(error) ? error.message : String(error))

/** Fails if a file can't be written, without writing to it. `said` is the flag as given. */
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
 * Fails if two of the files are the same, because one result would overwrite the other. Special files such as
 * `/dev/null` may be given twice.
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
    return yield* CommandFailure.usage(`${said}: must not be the same file as ${other}`)
  }
})

/** Writes a file named by a flag. */
export const writeNamed = Effect.fnUntraced(function* (said: string, file: string, text: string) {
  const system = yield* FileSystem.FileSystem
  yield* Effect.mapError(system.writeFileString(file, text), (error) =>
    CommandFailure.usage(`${said}: ${file} can't be written: ${fileTrouble(error)}`)
  )
})

/** A failed command: one line for the terminal, and an exit code. */
export class CommandFailure extends Schema.TaggedError<CommandFailure>()("CommandFailure", {
  /** One line with the problem and the accepted input. */
  message: Schema.String,
  exitCode: Schema.Int
}) {
  /** The exit code for wrong usage. */
  static readonly usageExitCode = 3

  /** Creates a failure for wrong usage. */
  static usage(message: string): CommandFailure {
    return new CommandFailure({ message, exitCode: CommandFailure.usageExitCode })
  }
}
