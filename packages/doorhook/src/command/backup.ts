/**
 * `doorhook backup`: copies the database to a file while the service runs, checks the copy, and then gives it its final
 * name.
 */
import { CommandFailure, columns, counted, fileTroubleOf } from "@doorhook/core"
import { SqliteFile } from "@doorhook/sql"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { randomBytes } from "node:crypto"
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync
} from "node:fs"
import * as Path from "node:path"
import { defaultDatabase, isFile, isPostgres } from "../service/Database.ts"
import { version as doorhookVersion } from "../version.ts"
import type { Copied } from "./backupSources.ts"
import { copySqlite, dumpPostgres } from "./backupSources.ts"
import { databaseFlags, deliveryConfigOf } from "./deliveryFlags.ts"
import { jsonFlag, printJson, printLine } from "./operatorApi.ts"
import { stopOnSighup } from "./Process.ts"

/** Suffixes of files that SQLite and doorhook keep beside a database. */
const besides = ["-wal", "-shm", "-journal", "-lock"]

/** Whether a path refers to the database or to one of the files beside it, even through a symbolic link. */
const belongsTo = (database: string, out: string): boolean => {
  const place = existsSync(database) ? realpathSync(database) : Path.resolve(database)
  const folder = Path.dirname(Path.resolve(out))
  const name = Path.join(existsSync(folder) ? realpathSync(folder) : folder, Path.basename(out))
  const identity = SqliteFile.identityOf(out)
  return ["", ...besides].some(
    (end) => name === place + end || SqliteFile.isSameFile(identity, SqliteFile.identityOf(place + end))
  )
}

/** Returns why the copy must not be written to a path; null if it may. */
const flawOfTarget = (out: string, database: string, mayReplace: boolean): string | null => {
  const found = statSync(out, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return "it is a folder. Name a file in it."
  // The copy would take the place of a device, a pipe or a socket.
  if (found?.isFile() === false) return "it is not a regular file. Name a file."
  if (isFile(database) && belongsTo(database, out))
    return "it is the database itself, or one of its files. Name another file."
  const log = ["-wal", "-journal"].map((end) => out + end).find(existsSync)
  if (log !== undefined) return `${log} exists, and SQLite would read it as the copy's log. Name another file.`
  const isThere = lstatSync(out, { throwIfNoEntry: false }) !== undefined
  return isThere && !mayReplace ? "it exists already. Name another file, or replace it with --force." : null
}

const checkTarget = (out: string, database: string, mayReplace: boolean): Effect.Effect<void, CommandFailure> =>
  Effect.suspend(() => {
    const flaw = flawOfTarget(out, database, mayReplace)
    return flaw === null ? Effect.void : Effect.fail(CommandFailure.usage(`--out ${out}: ${flaw}`))
  })

const onDisk = (out: string, run: () => void): Effect.Effect<void, CommandFailure> =>
  Effect.try({
    try: run,
    catch: (error) =>
      new CommandFailure({ message: `--out ${out}: it can't be written: ${fileTroubleOf(error)}.`, exitCode: 1 })
  })

const syncAt = (path: string, mode: "r" | "r+"): void => {
  const descriptor = openSync(path, mode)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes an empty file that only its owner can read. It is removed at the end of the scope, unless it was renamed. */
const partFor = (out: string) => {
  // Random, because in containers a later run may have the process id of a killed one.
  const part = `${out}.${randomBytes(6).toString("hex")}.part`
  return Effect.acquireRelease(
    Effect.as(
      onDisk(out, () => closeSync(openSync(part, "wx", 0o600))),
      part
    ),
    () => Effect.sync(() => [part, `${part}-journal`].forEach((path) => rmSync(path, { force: true })))
  )
}

/** Renames a finished file to its final name. After a power cut, the name refers to the whole file or to none. */
const finish = (part: string, out: string): Effect.Effect<void, CommandFailure> =>
  onDisk(out, () => {
    renameSync(part, out)
    // Windows can't sync folders.
    if (process.platform !== "win32") syncAt(Path.dirname(Path.resolve(out)), "r")
  })

const sizeText = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`

/** Says what to keep, and which secrets the file reveals. */
const advice = ({ isExposed, isSealed }: Copied): ReadonlyArray<readonly ["keep", string]> => {
  const key = "DOORHOOK_ENCRYPTION_KEY, kept somewhere else: doorhook can't start on this backup without it"
  const secrets = isSealed ? "some of its secrets" : "its secrets"
  return [
    ...(isSealed ? [["keep", key] as const] : []),
    ...(isExposed || !isSealed
      ? [["keep", `${secrets} are not encrypted: let nobody else read the file`] as const]
      : [])
  ]
}

const out = Flag.String("out").pipe(
  Flag.withDescription("File to write, which only its owner can read"),
  Flag.withMetavar("FILE"),
  Flag.optional
)

const file = Argument.String("file").pipe(Argument.withDescription("The same as --out"), Argument.optional)

/** Returns the file to write, from `--out` or the argument. */
const targetOf = (
  named: Option.Option<string>,
  given: Option.Option<string>
): Effect.Effect<string, CommandFailure> => {
  if (Option.isSome(named) && Option.isSome(given))
    return Effect.fail(CommandFailure.usage("Name the file once: by --out, or as the argument."))
  return Effect.fromOption(Option.orElse(named, () => given)).pipe(
    Effect.mapError(() => CommandFailure.usage("--out: is missing. Name the file to write."))
  )
}

const force = Flag.Boolean("force").pipe(Flag.withDescription("Replace the file if it exists"), Flag.withDefault(false))

export const backupCommand = Command.make(
  "backup",
  { ...databaseFlags, out, file, force, json: jsonFlag("Print a summary as JSON") },
  Effect.fnUntraced(function* (given) {
    const target = yield* targetOf(given.out, given.file)
    const { database = defaultDatabase } = yield* deliveryConfigOf(given)
    if (database === "memory") return yield* CommandFailure.usage("A database in memory can't be backed up.")
    yield* stopOnSighup(undefined)
    yield* checkTarget(target, database, given.force)
    const part = yield* partFor(target)
    const copied = yield* isPostgres(database) ? dumpPostgres(database, part) : copySqlite(database, part)
    yield* onDisk(target, () => syncAt(part, "r+"))
    const bytes = statSync(part).size
    // Checked again, because another process might have created the file in the meantime.
    yield* checkTarget(target, database, given.force)
    yield* finish(part, target)
    const { deliveries, engine, events, isExposed, isSealed, version } = copied
    if (given.json) {
      const written = { file: Path.resolve(target), bytes, events, deliveries, tables_version: version, engine }
      return yield* printJson({ ...written, secrets_encrypted: isSealed && !isExposed, doorhook: doorhookVersion })
    }
    const rows = [
      ["backup", `${Path.resolve(target)}, ${sizeText(bytes)}, checked`],
      ["holds", `${counted(events, "event")}, ${counted(deliveries, "delivery", "deliveries")}`],
      ["tables", `version ${version}, ${engine}, doorhook ${doorhookVersion}`],
      ...advice(copied)
    ]
    for (const line of columns(rows)) yield* printLine(line)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Copy the database to a file while the service runs, and check the copy"),
  Command.withExamples([
    { command: "doorhook backup --database doorhook.db --out backup.db", description: "A SQLite file" },
    {
      command: "doorhook backup --database postgres://doorhook@db.internal/doorhook --out doorhook.dump",
      description: "The schema doorhook of a PostgreSQL database, with pg_dump"
    }
  ])
)
