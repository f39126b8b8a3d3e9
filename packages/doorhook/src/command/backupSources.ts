/**
 * Copies a database to a file, even while a service uses it, and reads the copy to check it.
 */
import { CommandFailure, onOneLine } from "@doorhook/core"
import type { DatabaseUnusable, Inspection } from "@doorhook/sql"
import { PostgresUrl, SecretBox, SqliteFile } from "@doorhook/sql"
import { Effect, Redacted, Schema } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { createInterface } from "node:readline"
import { checkNoFolder, inspect } from "../service/DatabaseInspection.ts"
import { checkOneName, lossOf } from "../service/FileOwner.ts"

/** Error if a program fails or can't be started. */
export class ProgramFailed extends Schema.TaggedError<ProgramFailed>()("ProgramFailed", {
  program: Schema.String,
  /** Whether the program does not exist. */
  isMissing: Schema.Boolean,
  /** The program's standard error, on one line. */
  said: Schema.String
}) {
  override get message(): string {
    return `${this.program}: ${this.said}`
  }
}

interface RunOptions {
  /** Variables to add to the inherited environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Called with each line of standard output. */
  readonly onLine: (line: string) => void
}

const start = (program: string, args: ReadonlyArray<string>, { env, onLine }: RunOptions) => {
  const child = spawn(program, [...args], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
  let stderr = ""
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
  createInterface({ input: child.stdout }).on("line", onLine)
  return { child, ended: once(child, "close"), said: () => stderr.trim().replaceAll(/\s*\n\s*/g, "; ") }
}

/** Fails unless the program exits with 0. */
const runProgram = (
  program: string,
  args: ReadonlyArray<string>,
  options: RunOptions
): Effect.Effect<void, ProgramFailed> =>
  Effect.acquireUseRelease(
    Effect.sync(() => start(program, args, options)),
    ({ ended, said }) =>
      Effect.tryPromise({
        try: () => ended,
        catch: (error) => new ProgramFailed({ program, isMissing: true, said: String(error) })
      }).pipe(
        Effect.flatMap(([code, signal]: ReadonlyArray<unknown>) =>
          code === 0
            ? Effect.void
            : Effect.fail(
                new ProgramFailed({
                  program,
                  isMissing: false,
                  said: said() || `it ended with ${String(code ?? signal)}`
                })
              )
        )
      ),
    ({ child, ended }) =>
      Effect.promise(async () => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
        child.kill("SIGTERM")
        await ended
      })
  )

/** The contents of a checked copy. */
export interface Copied extends Pick<Inspection, "engine" | "version"> {
  readonly events: number
  readonly deliveries: number
  /** Whether the copy contains secrets encrypted with the encryption key. */
  readonly isSealed: boolean
  /** Whether the copy contains secrets in clear, e.g. from before the key was set. */
  readonly isExposed: boolean
}

const failed = (message: string) => new CommandFailure({ message: onOneLine(message), exitCode: 1 })

/** Fails unless the tables are doorhook's and of a version that this doorhook supports. */
const checkTables = (
  database: string,
  found: Inspection | null
): Effect.Effect<Pick<Copied, "engine" | "version">, CommandFailure> => {
  if (found === null || !found.exists) {
    return Effect.fail(failed(`${database} has no doorhook tables. Name the database that the service uses.`))
  }
  return found.refusal === null
    ? Effect.succeed(found)
    : Effect.fail(failed(`${database} can't be backed up: ${found.refusal}`))
}

// ---- SQLite

/**
 * Script that runs statements on a file and prints the first row of each result. It runs in a separate process, because
 * SQLite blocks its process, and a blocked process ignores Ctrl-C.
 */
const statementRunner = `
const { DatabaseSync } = process.getBuiltinModule("node:sqlite")
const [file, ...statements] = process.argv.slice(1)
try {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 })
  for (const statement of statements) console.log(Object.values(database.prepare(statement).get() ?? {}).join())
  database.close()
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}`

const query = Effect.fnUntraced(function* (file: string, statements: ReadonlyArray<string>) {
  const answers: Array<string> = []
  const args = ["--no-warnings", "--eval", statementRunner, "--", file, ...statements]
  yield* runProgram(process.execPath, args, { onLine: (line) => void answers.push(line) })
  return answers
})

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

const sealedPattern = quoted(`${SecretBox.sealedPrefix}%`)

/** Names of the settings that are secrets. The operator key is stored only if it was generated, and always in clear. */
const secretSettings = ["portal_secret", "signing_key", "operator_key"]

const checks: ReadonlyArray<string> = [
  "PRAGMA integrity_check(1)",
  "SELECT count(*) FROM events",
  "SELECT count(*) FROM deliveries",
  `SELECT EXISTS (SELECT 1 FROM integrations WHERE signing_secret LIKE ${sealedPattern})
     OR EXISTS (SELECT 1 FROM settings WHERE value LIKE ${sealedPattern})`,
  `SELECT EXISTS (SELECT 1 FROM integrations WHERE signing_secret NOT LIKE ${sealedPattern})
     OR EXISTS (SELECT 1 FROM settings
       WHERE name IN (${secretSettings.map(quoted).join()}) AND value NOT LIKE ${sealedPattern})`
]

const copyFailure =
  (database: string, copy: string) =>
  ({ said }: ProgramFailed): CommandFailure => {
    // Reading needs no space, so the full disk is the copy's.
    if (said.includes("disk is full"))
      return failed(`The disk of ${dirname(resolve(copy))} is full. Make room, or name a file on another disk.`)
    return failed(
      said.includes("malformed") || said.includes("not a database")
        ? `${database} is damaged or not a SQLite database (${said}). Restore it from an earlier backup.`
        : `${database} can't be copied: SQLite says: ${said}.`
    )
  }

/** Fails if the database does not exist, or if SQLite would read it without all of its log. */
const checkSource = Effect.fnUntraced(function* (database: string) {
  yield* checkNoFolder(database)
  if (!existsSync(database)) {
    return yield* CommandFailure.usage(
      `There is no database ${database}. Name the file that the service uses with --database, or set DOORHOOK_DATABASE.`
    )
  }
  yield* checkOneName(database)
  // A user who may only read the file, or a read-only disk, can't ask for its owner, but can copy it.
  const loss = Effect.orElseSucceed(lossOf(database), () => null)
  const flaw = SqliteFile.flawOfLog(database) ?? (yield* loss)
  if (flaw !== null) return yield* failed(`${database} can't be copied: ${flaw}`)
})

/** Copies a consistent state of the database and its log with `VACUUM INTO`, even while another process writes. */
export const copySqlite = Effect.fnUntraced(function* (
  database: string,
  copy: string
): Effect.fn.Return<Copied, CommandFailure | DatabaseUnusable> {
  yield* checkSource(database)
  yield* query(database, [`VACUUM INTO ${quoted(copy)}`]).pipe(Effect.mapError(copyFailure(database, copy)))
  const { engine, version } = yield* Effect.flatMap(inspect(copy), (found) => checkTables(database, found))
  const [integrity, events, deliveries, isSealed, isExposed] = yield* query(copy, checks).pipe(
    Effect.mapError(({ said }) => failed(`The copy can't be read back: ${said}. Check the disk of --out.`))
  )
  if (integrity !== "ok")
    return yield* failed(`The copy is damaged (${integrity}). Check the disks and run the backup again.`)
  return {
    engine,
    version,
    events: Number(events),
    deliveries: Number(deliveries),
    isSealed: isSealed === "1",
    isExposed: isExposed === "1"
  }
})

// ---- PostgreSQL

/** Tables that every dump must contain. */
const tables = ["migrations", "integrations", "events", "queue", "deliveries", "settings"]

const majorOf = (text: string): number => Number(/(\d+)(?:\.\d+|devel|beta|rc)/.exec(text)?.[1] ?? 0)

const install = (major: number): string =>
  `Install the PostgreSQL client programs of version ${major} or later (Debian, Ubuntu: postgresql-client-${major}; Alpine: postgresql${major}-client; macOS: brew install libpq), and put them first in PATH.`

/** Fails if a program is missing, or older than the server. */
const checkProgram = Effect.fnUntraced(function* (program: string, server: number) {
  let version = ""
  yield* runProgram(program, ["--version"], { onLine: (line) => (version += line) }).pipe(
    Effect.mapError(({ isMissing, said }) =>
      failed(isMissing ? `There is no ${program} in PATH. ${install(server)}` : `${program}: ${said}`)
    )
  )
  if (majorOf(version) < server) {
    return yield* failed(
      `${program} has version ${majorOf(version)} and can't read a PostgreSQL server of version ${server}. ${install(server)}`
    )
  }
})

/**
 * Returns a URL for libpq's programs. The password moves to an environment variable, because other users of the machine
 * can read arguments. Everything that libpq would otherwise take from a variable is written out.
 */
const withoutPassword = Effect.fnUntraced(function* (database: string, pooler: Inspection["pooler"]) {
  const given = yield* PostgresUrl.read(Redacted.make(database)).pipe(
    Effect.mapError(({ message }) => CommandFailure.usage(`database: ${message}`))
  )
  // pg_dump changes settings of its session, which in transaction mode would reach other programs.
  if (pooler?.mode === "transaction" && given.listen === null) {
    return yield* failed(
      "pg_dump can't read through a pooler in transaction mode. Name the server itself as --database, or in listen=."
    )
  }
  const { address, connectTimeout, database: name, host, options, password, port, tls, user } = given.listen ?? given
  if (tls.keyPassword !== null) {
    return yield* failed(
      "pg_dump can take sslpassword only where other users can read it: use a key file without a password"
    )
  }
  const parameters = {
    host,
    hostaddr: address,
    port,
    user,
    dbname: name ?? user,
    options,
    connect_timeout: connectTimeout === null || connectTimeout === Infinity ? null : connectTimeout / 1_000,
    sslmode: tls.mode,
    sslrootcert: tls.rootCert,
    sslcert: tls.cert,
    sslkey: tls.key,
    sslcrl: tls.crl,
    sslnegotiation: tls.negotiation === "postgres" ? null : tls.negotiation,
    sslsni: tls.sni ? null : 0,
    ssl_min_protocol_version: tls.minVersion,
    ssl_max_protocol_version: tls.maxVersion
  }
  const query = Object.entries(parameters).flatMap(([key, value]) =>
    value === null ? [] : [`${key}=${encodeURIComponent(value)}`]
  )
  return {
    url: `postgresql:///?${query.join("&")}`,
    env: password === null ? {} : { PGPASSWORD: Redacted.value(password) }
  }
})

/** Returns the stored secret in a row of a dump; undefined for none. */
const secretIn = (table: string, columns: ReadonlyArray<string>, line: string): string | undefined => {
  if (table !== "integrations" && table !== "settings") return undefined
  const values = line.split("\t")
  const valueOf = (column: string): string => values[columns.indexOf(column)] ?? ""
  if (table === "integrations") return valueOf("signing_secret")
  return secretSettings.includes(valueOf("name")) ? valueOf("value") : undefined
}

/** Counts the rows that a dump restores, by reading its SQL line by line. Also checks whether secrets are encrypted. */
const makeCounter = () => {
  const rows = new Map<string, number>()
  let table: string | null = null
  let columns: ReadonlyArray<string> = []
  let isSealed = false
  let isExposed = false
  const onLine = (line: string): void => {
    if (table === null) {
      const copy = /^COPY doorhook\.(\w+) \((.*)\) FROM stdin;$/.exec(line)
      table = copy?.[1] ?? null
      columns = copy?.[2]?.split(", ") ?? []
      if (table !== null) rows.set(table, 0)
    } else if (line === "\\.") table = null
    else {
      rows.set(table, (rows.get(table) ?? 0) + 1)
      const secret = secretIn(table, columns, line)
      if (secret === undefined) return
      if (secret.startsWith(SecretBox.sealedPrefix)) isSealed = true
      else isExposed = true
    }
  }
  return { onLine, rows, secrets: () => ({ isSealed, isExposed }) }
}

/** Reads a whole dump, because its list of contents alone does not reveal a truncated file. */
const readDump = Effect.fnUntraced(function* (dump: string) {
  const { onLine, rows, secrets } = makeCounter()
  yield* runProgram("pg_restore", ["--file=-", dump], { onLine }).pipe(
    Effect.mapError(({ said }) => failed(`The dump can't be read back: ${said}. Check the disk of --out.`))
  )
  const missing = tables.filter((table) => !rows.has(table))
  if (missing.length > 0) {
    return yield* failed(
      `The dump lacks ${missing.join(", ")}. Check that the user of the URL may read all tables of the schema doorhook.`
    )
  }
  const count = (table: string): number => rows.get(table) ?? 0
  return { events: count("events"), deliveries: count("queue") + count("deliveries"), ...secrets() }
})

/** Copies a consistent state of the schema with `pg_dump`, even while other processes write. */
export const dumpPostgres = Effect.fnUntraced(function* (
  database: string,
  dump: string
): Effect.fn.Return<Copied, CommandFailure | DatabaseUnusable> {
  const found = yield* inspect(database)
  const { engine, version } = yield* checkTables("the database", found)
  const { env, url } = yield* withoutPassword(database, found?.pooler ?? null)
  for (const program of ["pg_dump", "pg_restore"]) yield* checkProgram(program, majorOf(engine))
  const args = ["--format=custom", "--schema=doorhook", "--no-password", `--file=${dump}`, `--dbname=${url}`]
  yield* runProgram("pg_dump", args, { env, onLine: () => undefined }).pipe(
    Effect.mapError(({ said }) => failed(`The database can't be dumped: ${said}`))
  )
  return { engine, version, ...(yield* readDump(dump)) }
})
