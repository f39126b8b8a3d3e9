/**
 * PostgreSQL goes away, comes back, cuts connections, refuses to write or says nothing, under load: a service and two
 * workers live through it, and nothing is lost.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import pg from "pg"
import { describeOnOwnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { accountFor, assertClearRefusals, eventually, readinessOf } from "../harness/Accounting.ts"
import { configured, end, startDelivering, startWorker } from "../harness/Delivering.ts"
import { startLoad } from "../harness/Load.ts"

const live = (name: string, body: Effect.Effect<void, unknown, Scope.Scope>) => it.live(name, () => Effect.scoped(body))

/** A service and two workers under load, each of which has delivered already. */
const startAll = Effect.fnUntraced(function* (server: TestServer, settings: object = {}) {
  const database = yield* newDatabase(server)
  const flags = yield* configured(server.url(database), settings)
  const { receiver, service } = yield* startDelivering(flags)
  const workers = yield* Effect.all([startWorker(flags), startWorker(flags)], { concurrency: "unbounded" })
  const load = yield* startLoad(() => service.url)
  yield* Effect.promise(() => load.more(50))
  return { database, load, receiver, service, workers }
})

const untilReady = (url: string) => eventually("ready", readinessOf(url), ({ code }) => code === 200)

const untilNotReady = (url: string, why: string) =>
  eventually("not ready", readinessOf(url), ({ code, status }) => code === 503 && status === why)

/** How many connections of doorhook's hear wake signals. */
const listeners = (server: TestServer, database: string) =>
  Effect.promise(async () => {
    const statement = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND query LIKE 'LISTEN%'`
    return (await server.administer(statement)).length
  })

const cut = (database: string): string =>
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND application_name = 'doorhook'`

/** Whether the tables are locked now, rather than this connection the one that a deadlock ended. */
const locked = (client: pg.Client, lock: string): Promise<boolean> =>
  client.query(lock).then(
    () => true,
    (cause: unknown) => {
      if (cause instanceof pg.DatabaseError && cause.code === "40P01") return false
      throw cause
    }
  )

/** Takes all of doorhook's tables for itself, until they are unlocked. */
const lockTables = Effect.fnUntraced(function* (server: TestServer, database: string) {
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const connected = new pg.Client({ connectionString: server.url(database) })
      await connected.connect()
      return connected
    }),
    (connected) => Effect.promise(() => connected.end())
  )
  yield* Effect.promise(async () => {
    await client.query("BEGIN")
    const { rows } = await client.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'doorhook'"
    )
    const lock = `LOCK TABLE ${rows.map(({ name }) => name).join(", ")} IN ACCESS EXCLUSIVE MODE`
    // Tables are locked one by one, doorhook's own in another order: who is chosen to give way tries again.
    while (!(await locked(client, lock))) await client.query("ROLLBACK; BEGIN")
  })
  return { unlock: Effect.promise(() => client.query("COMMIT")) }
})

await describeOnOwnPostgres("doorhook when PostgreSQL fails", (server) => {
  live(
    "the server is stopped, and killed, for some seconds",
    Effect.gen(function* () {
      // Who does not hear wake signals finds nothing within the time of this test.
      const { database, load, receiver, service, workers } = yield* startAll(server, { pollInterval: "30s" })
      for (const signal of ["SIGINT", "SIGKILL"] as const) {
        yield* Effect.promise(() => server.halt(signal))
        const { detail, oldest_due_age_ms } = yield* untilNotReady(service.url, "store_unreachable")
        assert.match(String(detail), /^The database does not answer/)
        assert.isNull(oldest_due_age_ms)
        yield* Effect.promise(() => load.moreRefused(200))
        yield* Effect.promise(() => server.resume())
        yield* untilReady(service.url)
        yield* Effect.promise(() => load.more(50))
      }
      assertClearRefusals(load)
      yield* accountFor({ url: service.url, load, receiver, cutOff: 0 })
      yield* eventually("all hear wake signals again", listeners(server, database), (count) => count === 3)

      // Published by the database itself, with no service there: only a wake signal tells the workers.
      assert.strictEqual((yield* end(service, "SIGTERM")).code, 0)
      const before = receiver.received.length
      const event = `{"resource_type":"access_log","action":"create","building_id":1,"data":{"id":0}}`
      const published = performance.now()
      yield* Effect.promise(() => server.administer(`SELECT doorhook.publish('${event}')`, database))
      yield* Effect.promise(() => receiver.until(({ length }) => length > before))
      assert.isBelow(performance.now() - published, 5_000)
      for (const worker of workers) assert.strictEqual((yield* end(worker, "SIGTERM")).code, 0)
    })
  )

  live(
    "the server cuts all connections, again and again",
    Effect.gen(function* () {
      const { database, load, receiver, service } = yield* startAll(server)
      for (let cuts = 0; cuts < 10; cuts++) {
        yield* Effect.promise(() => server.administer(cut(database)))
        yield* Effect.promise(() => load.more(20))
      }
      assertClearRefusals(load)
      yield* accountFor({ url: service.url, load, receiver, cutOff: 0 })
      yield* untilReady(service.url)
      yield* eventually("all hear wake signals again", listeners(server, database), (count) => count === 3)
    })
  )

  live(
    "the server refuses to write for some seconds",
    Effect.gen(function* () {
      const { database, load, receiver, service } = yield* startAll(server)
      const readOnly = (on: boolean) =>
        Effect.promise(async () => {
          await server.administer(`ALTER DATABASE ${database} SET default_transaction_read_only = ${on}`)
          // Connections take the setting on at their start.
          await server.administer(cut(database))
        })
      yield* readOnly(true)
      yield* Effect.promise(() => load.moreRefused(20))
      const { detail, oldest_due_age_ms } = yield* untilNotReady(service.url, "store_refuses_changes")
      assert.match(String(detail), /read-only/)
      assert.isNotNull(oldest_due_age_ms)
      assert.match(service.stderr(), /read-only transaction/)
      yield* readOnly(false)
      yield* untilReady(service.url)
      yield* Effect.promise(() => load.more(50))
      assertClearRefusals(load)
      yield* accountFor({ url: service.url, load, receiver, cutOff: 0 })
    })
  )

  live(
    "a lock stops every statement for some seconds: nothing hangs with it",
    Effect.gen(function* () {
      const { database, load, receiver, service } = yield* startAll(server)
      const { unlock } = yield* lockTables(server, database)
      yield* untilNotReady(service.url, "store_unreachable")
      yield* Effect.promise(() => load.moreRefused(1))
      yield* unlock
      yield* untilReady(service.url)
      yield* Effect.promise(() => load.more(50))
      assertClearRefusals(load)
      yield* accountFor({ url: service.url, load, receiver, cutOff: 0 })
    })
  )
})
