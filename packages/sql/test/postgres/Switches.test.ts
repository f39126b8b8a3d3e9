/**
 * The switches for compatible engines belong to the database, and a start that was killed can be repeated.
 */
import { DeliveryStore, WakeSignal } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore, PostgresWakeSignal } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describeOnPostgres, newDatabase, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { statements } from "../../src/postgres/migrations/0001_Tables.ts"
import { inspect } from "../../src/postgres/PostgresInspection.ts"

const { claim, createIntegration, enqueue, idsOf, records, start } = StoreFixtures

const onStore = (url: string) => Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))

const engineOf = (url: string) => Effect.map(inspect({ url: Redacted.make(url) }), ({ engine }) => engine)

/** Opens and closes a database. */
const open = (url: string) => Effect.scoped(Layer.build(onStore(url)))

await describeOnPostgres("switches", (server) => {
  it.live("are stored by the first process, and hold for a URL without them", () =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      yield* open(`${url}?notify=off&locks=rows`)
      assert.match(yield* engineOf(url), /^PostgreSQL [\d.]+.* with notify=off&locks=rows$/)
      const functions = Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql.unsafe(
          "SELECT prosrc FROM pg_proc WHERE prosrc ~ 'pg_(notify|advisory)' AND pronamespace = 'doorhook'::regnamespace"
        )
      )
      assert.deepEqual(yield* Effect.provide(functions, onStore(url)), [])
    })
  )

  it.live("can be changed while no worker is running, and are refused beside one", () =>
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      yield* open(url)
      yield* open(`${url}?claim=update`)
      const sql = yield* Effect.promise(() => Promise.resolve(server.administer))
      const [, name = ""] = /([^/]+)$/.exec(url) ?? []
      yield* Effect.promise(() => sql("INSERT INTO doorhook.members VALUES ('w', 99999999999999)", name))
      yield* open(url)
      yield* open(`${url}?claim=update`)
      const refused = yield* Effect.flip(open(`${url}?claim=skip-locked&notify=off`))
      assert.match(refused.message, /1 running workers use it with claim=update\. Leave notify, locks and claim out/)
      yield* Effect.promise(() => sql("DELETE FROM doorhook.members", name))
      yield* open(`${url}?claim=skip-locked&notify=off`)
      assert.match(yield* engineOf(url), / with notify=off$/)
    })
  )

  it.live("let a start that was killed after any statement be repeated", () =>
    Effect.gen(function* () {
      const database = yield* newDatabase(server)
      const url = server.url(database)
      // Some engines commit each statement that creates a table, so a killed start leaves the first ones.
      for (const count of [1, Math.floor(statements.length / 2), statements.length]) {
        const left = statements.slice(0, count).join(";")
        yield* Effect.promise(() =>
          server.administer(
            `DROP SCHEMA IF EXISTS doorhook CASCADE; CREATE SCHEMA doorhook; SET search_path = doorhook; ${left}`,
            database
          )
        )
        yield* open(`${url}?locks=rows`)
        assert.match(yield* engineOf(url), / with locks=rows$/)
      }
    })
  )

  it.live("notify=off: a process looks for changes and deliveries of others every second", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const signals = PostgresWakeSignal.layer.pipe(Layer.provideMerge(onStore(`${url}?notify=off`)))
      yield* Effect.gen(function* () {
        const integration = yield* createIntegration()
        const { changes, wait } = yield* WakeSignal
        yield* changes
        const woken = yield* Effect.forkChild(Effect.andThen(wait, wait))
        const changed = yield* Effect.forkChild(changes)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* enqueue(...records(1, 1, integration))
          yield* sql.unsafe("UPDATE integrations SET version = version + 1")
        }).pipe(Effect.provide(onStore(url)))
        yield* Fiber.join(woken)
        assert.strictEqual(yield* Fiber.join(changed), null)
      }).pipe(Effect.provide(signals))
    })
  )

  it.live("locks=rows: a feed skips no delivery of an open transaction, and goes on when it has ended", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const integration = yield* createIntegration()
        const feed = DeliveryStore.use((store) =>
          store.feed({ integration_id: integration.id, after: 0, limit: 100 })
        ).pipe(Effect.map(({ items }) => items.map(({ delivery }) => delivery.id)))
        const publish = (n: number) => enqueue(...records(n, n, integration))
        yield* publish(1)
        assert.deepEqual(yield* feed, [1])
        const opened = yield* Deferred.make<void>()
        const commit = yield* Deferred.make<void>()
        const slow = yield* publish(2).pipe(
          Effect.andThen(Deferred.succeed(opened, undefined)),
          Effect.andThen(Deferred.await(commit)),
          sql.withTransaction,
          Effect.forkChild
        )
        yield* Deferred.await(opened)
        yield* publish(3)
        assert.deepEqual(yield* feed, [1])
        // Published in the epoch after the one that the open transaction belongs to.
        yield* publish(4)
        assert.deepEqual(yield* feed, [1])
        yield* Deferred.succeed(commit, undefined)
        yield* Fiber.join(slow)
        assert.deepEqual(yield* feed, [1, 2, 3, 4])
      }).pipe(Effect.provide(onStore(`${url}?locks=rows`)))
    })
  )

  it.live("claim=update: two claims that choose the same deliveries share them", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const store = onStore(`${url}?claim=update`)
      yield* Effect.gen(function* () {
        const integration = yield* createIntegration()
        yield* enqueue(...records(1, 40, integration))
        const taken = yield* Effect.all(
          ["a", "b", "c"].map((worker) => Effect.provide(claim(start, { limit: 20, worker }), store)),
          { concurrency: "unbounded" }
        )
        const ids = taken.flatMap((claimed) => idsOf(claimed))
        assert.strictEqual(new Set(ids).size, ids.length)
        assert.isAtLeast(ids.length, 20)
        assert.strictEqual(
          (yield* DeliveryStore.use(({ list }) => list({ limit: 100, states: ["delivering"] }))).length,
          ids.length
        )
      }).pipe(Effect.provide(store))
    })
  )
})
