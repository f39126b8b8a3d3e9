/**
 * Wake signals reach every process on the same database when their transaction commits.
 */
import { DeliveryId, DeliveryStore, IntegrationId, IntegrationStore, WakeSignal } from "@doorhook/core"
import { provideEach, StoreFixtures, WakeSignalSuite } from "@doorhook/core/testing"
import { PgClient } from "@effect/sql-pg/PgClient"
import { PostgresDatabase, PostgresStore, PostgresWakeSignal } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { pauseAfterLook } from "../../src/postgres/PostgresWakeSignal.ts"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"

const { claimOne, createIntegration, enqueue, records, settle, settlement, start } = StoreFixtures

it("polling spends at most a tenth of the time on scans of the integrations", () => {
  const pauses = [20, 100, 400].map((took) => pauseAfterLook(Duration.millis(took)))
  assert.deepEqual(pauses.map(Duration.toMillis), [1_000, 1_000, 4_000])
})

await describeOnPostgres("wake signals", (server) => {
  /** Simulates a process: a pool and a listener that is already connected. */
  const process = Effect.fnUntraced(function* (url: string) {
    const database = PostgresDatabase.layer({ url: Redacted.make(url) })
    const services = yield* Layer.build(Layer.fresh(PostgresWakeSignal.layer.pipe(Layer.provideMerge(database))))
    const wake = Context.get(services, WakeSignal)
    // The first signal means that the process is listening. `changes` is null at first, because changes before that
    // signal are unknown.
    yield* wake.wait
    assert.isNull(yield* wake.changes)
    return { wake, sql: Context.get(services, SqlClient.SqlClient) }
  })

  const processes = Layer.effect(
    WakeSignalSuite.WakeProcesses,
    Effect.map(pooledDatabase(server), ({ url }) => ({
      join: Effect.orDie(Effect.map(process(url), ({ wake }) => wake))
    }))
  )
  const one = Layer.effect(
    WakeSignal,
    Effect.flatMap(WakeSignalSuite.WakeProcesses, ({ join }) => join)
  )
  for (const { name, run } of [
    ...provideEach(WakeSignalSuite.cases, Layer.provide(one, processes)),
    ...provideEach(WakeSignalSuite.betweenProcesses, processes)
  ]) {
    it.live(name, () => run)
  }

  it.live("a signal in a transaction arrives when it commits, and never if it rolls back", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const a = yield* process(url)
      const b = yield* process(url)
      const heard: Array<string> = []
      const waiting = yield* Effect.forkChild(Effect.tap(b.wake.wait, () => Effect.sync(() => heard.push("signal"))))
      yield* Effect.flip(a.sql.withTransaction(Effect.andThen(a.wake.signal, Effect.fail("roll back"))))
      // After these round trips, a signal sent earlier would have arrived.
      yield* a.sql.unsafe("SELECT 1")
      yield* b.sql.unsafe("SELECT 1")
      assert.deepEqual(heard, [])
      yield* a.sql.withTransaction(
        Effect.andThen(
          a.wake.signal,
          Effect.andThen(b.sql.unsafe("SELECT 1"), () => Effect.sync(() => heard.push("still in it")))
        )
      )
      yield* Fiber.join(waiting)
      assert.deepEqual(heard, ["still in it", "signal"])
    })
  )

  it.live(
    "the store signals deliveries that are due for other processes, in the same transaction, and nothing else",
    () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        const { wake } = yield* process(url)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const store = yield* DeliveryStore
          const integration = yield* createIntegration()
          const leased = (n: number) => [
            {
              event: StoreFixtures.newEvent(n),
              deliveries: [
                {
                  integration_id: integration.id,
                  lane: 2 as const,
                  matched_version: 1,
                  initial: { state: "delivering" as const, worker: "w" }
                }
              ]
            }
          ]
          const next = Effect.forkChild(wake.wait, { startImmediately: true })
          // The first delivery is leased to its publisher, so other processes are not woken. Enqueueing a due delivery
          // wakes them.
          let waiting = yield* next
          yield* store.enqueue(leased(1))
          yield* sql.unsafe("SELECT 1")
          assert.isUndefined(waiting.pollUnsafe())
          yield* enqueue(...records(2, 2, integration))
          yield* Fiber.join(waiting)
          waiting = yield* next
          yield* store.heartbeat({ worker: "other", now: start, until: start + 1 })
          yield* Fiber.join(waiting)
          waiting = yield* next
          yield* store.heartbeat({ worker: "other", now: start, until: start + 1 })
          yield* sql.unsafe("SELECT 1")
          assert.isUndefined(waiting.pollUnsafe())
          yield* settle(start, settlement(yield* claimOne(start)))
          const [{ id } = { id: DeliveryId.make(1) }] = yield* store.list({ states: ["delivered"], limit: 1 })
          assert.isUndefined(waiting.pollUnsafe())
          yield* store.redeliver({ type: "delivery", id }, start)
          yield* Fiber.join(waiting)
        }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))))
      })
  )

  it.live("the store reports changed integrations as one list, once the transaction commits", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const { wake } = yield* process(url)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const integrations = yield* IntegrationStore
        const [one, two, three] = [yield* createIntegration(), yield* createIntegration(), yield* createIntegration()]
        const heard = yield* Effect.forkChild(wake.changes)
        // Failed deliveries, refused updates and rollbacks are not reported as changes.
        yield* enqueue(...records(1, 1, one))
        yield* settle(start, StoreFixtures.retryAt(yield* claimOne(start), start + 1))
        assert.isFalse(yield* integrations.update({ ...one, version: 9 }, 8))
        yield* Effect.flip(sql.withTransaction(Effect.andThen(integrations.remove(one), Effect.fail("undone"))))
        yield* integrations.update({ ...two, overrides: { acknowledge: "2xx" }, version: 2 }, 1)
        assert.deepEqual(yield* Fiber.join(heard), [two.id])
        yield* settle(start + 1, settlement(yield* claimOne(start + 1), { state: "cancelled", gone: true }))
        yield* integrations.remove(three)
        // Once this signal arrives, both earlier changes have arrived as well.
        yield* wake.signal
        yield* wake.wait
        assert.deepEqual(yield* wake.changes, [one.id, three.id])
      }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))))
    })
  )

  it.live("after a broken connection, all integrations count as changed", () =>
    Effect.gen(function* () {
      const { name, url } = yield* pooledDatabase(server)
      const a = yield* process(url)
      yield* a.sql.unsafe("SELECT pg_notify('doorhook_wake', '7')")
      assert.deepEqual(yield* a.wake.changes, [IntegrationId.make(7)])
      yield* Effect.promise(() =>
        server.administer(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = '${name}' AND application_name = 'doorhook'`
        )
      )
      assert.isNull(yield* a.wake.changes)
      yield* a.sql.unsafe("SELECT pg_notify('doorhook_wake', '8')")
      assert.deepEqual(yield* a.wake.changes, [IntegrationId.make(8)])
    })
  )

  it.live("after a broken connection, a listener wakes its callers and receives signals again", () =>
    Effect.gen(function* () {
      const { name, url } = yield* pooledDatabase(server)
      const a = yield* process(url)
      for (const _ of [1, 2]) {
        yield* Effect.promise(() =>
          server.administer(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = '${name}' AND application_name = 'doorhook'`
          )
        )
        yield* a.wake.wait
        yield* a.wake.signal
        yield* a.wake.wait
      }
    })
  )

  it.live("repeated refusals to listen leave no connections open", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const database = PostgresDatabase.layer({ url: Redacted.make(url), maxConnections: 2 })
      let refusals = 0
      const counted = Effect.sync(() => refusals++)
      const refusing = Layer.effect(
        PgClient,
        Effect.map(PgClient, (sql) => {
          // As on a standby, the first three LISTEN statements fail and the connection stays open.
          const listen = (channel: string) =>
            sql.listen(refusals < 3 ? "" : channel).pipe(Effect.tapError(() => counted))
          return new Proxy(sql, {
            get: (client, key, receiver) => (key === "listen" ? listen : Reflect.get(client, key, receiver))
          })
        })
      )
      const services = yield* Layer.build(
        Layer.fresh(PostgresWakeSignal.layer.pipe(Layer.provide(refusing), Layer.provideMerge(database)))
      )
      const wake = Context.get(services, WakeSignal)
      yield* wake.wait
      assert.strictEqual(refusals, 3)
      // Null: changes made before the process was listening are unknown.
      assert.isNull(yield* wake.changes)
      yield* wake.signal
      yield* wake.wait
    })
  )
})
