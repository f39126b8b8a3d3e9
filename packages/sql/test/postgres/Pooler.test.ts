/**
 * Through pgbouncer, in each mode, statements have their settings and leave none behind, and wake signals arrive.
 */
import { callEndType, DeliveryStore, JsonText, WakeSignal } from "@doorhook/core"
import { provideEach, StoreFixtures, WakeSignalSuite } from "@doorhook/core/testing"
import type { PooledServer } from "@doorhook/testkit/postgres/Pgbouncer"
import { describeOnPgbouncer } from "@doorhook/testkit/postgres/Pgbouncer"
import { newDatabase, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { PostgresDatabase, PostgresInspection, PostgresStore, PostgresWakeSignal } from "@doorhook/sql/postgres"
import { times } from "@doorhook/testkit/Sample"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import pg from "pg"

const { createIntegration, enqueue, newEvent, record, records, start } = StoreFixtures

/** Simulates a process: its SQL client, store and wake signals. */
const open = (url: string, timeout?: number) =>
  Layer.build(
    Layer.fresh(
      PostgresWakeSignal.layer.pipe(
        Layer.provideMerge(PostgresStore.layer({ url: Redacted.make(url), ...(timeout !== undefined && { timeout }) }))
      )
    )
  )

const sqlOf = (url: string, timeout?: number) =>
  Effect.map(open(url, timeout), (services) => Context.get(services, SqlClient.SqlClient))

const refusal = (url: string) =>
  Effect.map(
    Effect.flip(Effect.scoped(Layer.build(Layer.fresh(PostgresDatabase.layer({ url: Redacted.make(url) }))))),
    String
  )

const modeOf = (url: string) =>
  Effect.map(PostgresInspection.inspect({ url: Redacted.make(url) }), ({ pooler }) => pooler)

/** Database URL with the server itself for wake signals. */
const listening = (server: PooledServer, name: string) =>
  `${server.url(name)}?listen=${encodeURIComponent(server.directUrl(name))}`

/** Settings of TCP connections are not for the server's connections to the pooler. */
const settings = Object.fromEntries(
  Object.entries(PostgresDatabase.session).filter(([name]) => !name.startsWith("tcp_"))
)
const current = `SELECT name, setting FROM pg_settings
  WHERE name IN ('${Object.keys(settings).join("', '")}', 'synchronous_commit')`

type Row = { readonly name: string; readonly setting: string }

const read = (rows: ReadonlyArray<Row>) => Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))

/** What another program sees through the same pooler, on as many of its connections to the server as there may be. */
const seenByOthers = (url: string) =>
  Effect.promise(async () => {
    const clients = Array.from({ length: 5 }, () => new pg.Client({ connectionString: url }))
    const seen = await Promise.all(
      clients.map(async (client) => {
        await client.connect()
        await client.query("BEGIN")
        return read((await client.query<Row>(current)).rows)
      })
    )
    for (const client of clients) await client.end()
    return seen
  })

for (const mode of ["session", "transaction"] as const) {
  await describeOnPgbouncer("doorhook behind pgbouncer", mode, (server) => {
    it.live("statements and transactions have their settings, and other programs have none of them", () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        yield* Effect.promise(() => server.administer(`ALTER DATABASE ${name} SET synchronous_commit = off`))
        const before = yield* seenByOthers(server.directUrl(name))
        const sql = yield* sqlOf(server.url(name))
        const expected = { ...settings, synchronous_commit: "on" }
        const statement = Effect.map(sql.unsafe<Row>(current), read)
        yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => Effect.map(statement, (found) => assert.deepEqual(found, expected)),
          { concurrency: 5, discard: true }
        )
        const second = yield* sql.withTransaction(Effect.andThen(sql.unsafe("SELECT 1"), statement))
        assert.deepEqual(second, expected)
        // A refused statement, and a transaction that is rolled back, change nothing about it.
        yield* Effect.flip(sql.unsafe("SELECT 1/0"))
        yield* Effect.flip(sql.withTransaction(sql.unsafe("SELECT no")))
        assert.deepEqual(yield* statement, expected)
        assert.deepEqual(yield* seenByOthers(server.url(name)), before)
      }).pipe(Effect.scoped)
    )

    it.live("the server cancels statements after the timeout", () =>
      Effect.gen(function* () {
        const sql = yield* sqlOf(server.url(yield* newDatabase(server)), 200)
        for (const run of [sql.unsafe("SELECT pg_sleep(60)"), sql.withTransaction(sql.unsafe("SELECT pg_sleep(60)"))]) {
          assert.match(String((yield* Effect.flip(run)).reason.cause), /statement timeout/)
        }
      }).pipe(Effect.scoped)
    )

    it.live("several processes may migrate a new database at once", () =>
      Effect.gen(function* () {
        const url = server.url(yield* newDatabase(server))
        yield* Effect.forEach([1, 2, 3], () => Effect.scoped(sqlOf(url)), { concurrency: "unbounded" })
        assert.strictEqual((yield* PostgresInspection.inspect({ url: Redacted.make(url) })).exists, true)
      })
    )

    it.live("an inspection names the mode, even while other programs use the pooler", () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        const busy = Array.from({ length: 4 }, () => new pg.Client({ connectionString: url }))
        yield* Effect.promise(() => Promise.all(busy.map((client) => client.connect())))
        const stopped = new AbortController()
        const traffic = busy.map(async (client) => {
          while (!stopped.signal.aborted) await client.query("SELECT 1")
          await client.end()
        })
        yield* Effect.addFinalizer(() =>
          Effect.promise(() => {
            stopped.abort()
            return Promise.all(traffic)
          })
        )
        for (let time = 0; time < times(6, 20); time++) assert.strictEqual((yield* modeOf(url))?.mode, mode)
      }).pipe(Effect.scoped)
    )

    it.live("a store works again after the pooler was restarted", () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        const services = yield* open(url)
        const summary = Context.get(services, DeliveryStore).summary(0)
        yield* summary
        yield* Effect.promise(server.halt)
        assert.strictEqual((yield* Effect.flip(summary))._tag, "StoreError")
        yield* Effect.promise(server.resume)
        yield* Effect.retry(summary, Schedule.spaced("10 millis"))
      })
    )

    const processes = Layer.effect(
      WakeSignalSuite.WakeProcesses,
      Effect.map(pooledDatabase(server), ({ name, url }) => ({
        join: Effect.orDie(
          Effect.gen(function* () {
            const wake = Context.get(yield* open(mode === "session" ? url : listening(server, name)), WakeSignal)
            yield* wake.wait
            return wake
          })
        )
      }))
    )
    for (const { name, run } of provideEach(WakeSignalSuite.betweenProcesses, processes)) it.live(name, () => run)
  })
}

await describeOnPgbouncer(
  "doorhook behind pgbouncer that ignores its settings",
  "transaction",
  (server) => {
    it.live("finds the mode by what the sessions share", () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        assert.deepInclude(yield* modeOf(server.url(name)), { mode: "transaction" })
        assert.strictEqual(yield* modeOf(server.directUrl(name)), null)
        assert.match((yield* modeOf(server.url(name)))?.signals ?? "", /by polling every 1 second.*listen=/)
        assert.match((yield* modeOf(listening(server, name)))?.signals ?? "", /^wake signals from postgres:/)
      })
    )

    it.live("without the server itself, processes find due deliveries and changes by polling", () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        const [one, other] = [yield* open(url), yield* open(url)]
        const wake = Context.get(other, WakeSignal)
        assert.isNull(yield* wake.changes)
        const integration = yield* Effect.provideContext(createIntegration(), one)
        assert.isNull(yield* wake.changes)
        yield* Effect.provideContext(enqueue(...records(1, 1, integration)), one)
        yield* wake.wait
        const [claimed] = yield* Effect.provideContext(
          Effect.map(StoreFixtures.claimOne(start), (found) => [found]),
          other
        )
        assert.strictEqual(claimed?.integration.id, integration.id)

        // A call that ends while the other process holds its delivery.
        const ring = newEvent(2, { resource_type: "call" })
        const hangUp = newEvent(3, { resource_type: callEndType, data: JsonText.JsonText.make('{"call_id":2}') })
        yield* Effect.provideContext(
          Effect.gen(function* () {
            yield* enqueue({ ...record(ring, integration), call: { id: "2", isEnd: false } })
            assert.strictEqual((yield* StoreFixtures.claimOne(start)).event.id, ring.id)
            yield* enqueue({ ...record(hangUp), call: { id: "2", isEnd: true } })
          }),
          one
        )
        assert.isNull(yield* wake.changes)
      })
    )

    it.live("listen= must lead to the server itself", () =>
      Effect.gen(function* () {
        const { name, url } = yield* pooledDatabase(server)
        assert.match(
          yield* refusal(`${url}?listen=${encodeURIComponent(server.url(name))}`),
          /listen=.*transaction mode/
        )
        const nowhere = "postgres://postgres@127.0.0.1:1/postgres"
        assert.match(yield* refusal(`${url}?listen=${encodeURIComponent(nowhere)}`), /listen=.*nothing listens/)
        const other = server.directUrl("postgres")
        assert.match(
          yield* refusal(`${url}?listen=${encodeURIComponent(other)}`),
          /listen=.*another server or database/
        )
      })
    )

    it.live("the isolation that a pooler can't change is named", () =>
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        yield* Effect.promise(() =>
          server.administer(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
        )
        assert.match(yield* refusal(server.url(name)), /default_transaction_isolation is serializable.*ALTER ROLE/)
      })
    )
  },
  [`ignore_startup_parameters = ${Object.keys(PostgresDatabase.session).join(", ")}`]
)

await describeOnPgbouncer("pgbouncer", "statement", (server) => {
  it.live("is refused, with what to change", () =>
    Effect.gen(function* () {
      assert.match(yield* refusal(server.url(yield* newDatabase(server))), /statement mode.*Use session or transaction/)
    })
  )
})

await describeOnPgbouncer(
  "pgbouncer with two connections",
  "transaction",
  (server) => {
    it.live("is enough for a store, and further clients are refused with what to raise", () =>
      Effect.gen(function* () {
        const { name, url } = yield* pooledDatabase(server)
        const sql = yield* Effect.map(open(url), (services) => Context.get(services, SqlClient.SqlClient))
        yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => sql.withTransaction(Effect.andThen(sql.unsafe("SELECT 1"), sql.unsafe("SELECT 2"))),
          { concurrency: 8, discard: true }
        )
        const others = Array.from({ length: 12 }, () => new pg.Client({ connectionString: url }))
        for (const client of others) client.on("error", () => undefined)
        yield* Effect.promise(() => Promise.allSettled(others.map((client) => client.connect())))
        assert.match(yield* refusal(server.url(name)), /max_client_conn/)
        yield* Effect.promise(() => Promise.allSettled(others.map((client) => client.end())))
        yield* Effect.retry(sql.unsafe("SELECT 1"), Schedule.spaced("10 millis"))
      })
    )
  },
  ["default_pool_size = 2", "max_client_conn = 12"]
)
