/**
 * An integration with a dead receiver and a backlog too large to be cancelled in one statement. The integration can be
 * disabled and deleted immediately without delaying others. Any process can move the cancelled rows out of the queue.
 */
import type { Integration } from "@doorhook/core"
import { DeliveryStore, deliveryStates, IntegrationStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { CancellationBatch } from "../../src/stores/Cancellations.ts"

const { claim, claimOne, createIntegration, enqueue, idsOf, records, settle, settlement, start } = StoreFixtures

/** Opens a store. `timeout` is the statement timeout in milliseconds. */
const onStore = (url: string, timeout = 15_000) =>
  Layer.fresh(PostgresStore.layer({ url: Redacted.make(url), timeout, maxConnections: 4 }))

/** Creates a large backlog for an integration. */
const pileUp = (server: TestServer, database: string, { id }: Integration, count: number) =>
  Effect.promise(() =>
    server.administer(
      `SET search_path = doorhook;
      INSERT INTO queue (id, event_id, integration_id, created_at, state, attempts, lane, due_at, resend)
        SELECT nextval('delivery_ids'), 'evt_' || lpad(n::text, 20, '0'), ${id}, ${start}, 'retrying', 1, 3, ${start} + n, 0
        FROM generate_series(1, ${count}) AS n;
      INSERT INTO tallies VALUES (${count}, 0, 0, ${count}, 0, 0, 0, 0, 0)`,
      database
    )
  )

const rowsOf = (server: TestServer, database: string, table: string, condition = "true") =>
  Effect.map(
    Effect.promise(() => server.administer(`SELECT count(*) FROM doorhook.${table} WHERE ${condition}`, database)),
    ([row]) => Number(row?.["count"])
  )

await describeOnPostgres("backlogs", (server) => {
  it.live("a receiver that is gone, with a backlog of 60,000 deliveries, blocks nothing", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const many = 60_000
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const integrations = yield* IntegrationStore
        const [dead, well] = [yield* createIntegration(), yield* createIntegration()]
        yield* enqueue(...records(1, 1, dead))
        const leased = yield* claimOne(start)
        yield* pileUp(server, name, dead, many)
        const gone = settlement(leased, { state: "cancelled", reason: "integration_gone", gone: true })
        assert.deepEqual([...(yield* settle(start, gone))], [leased.id])
        const ids = yield* enqueue(...records(2, 21, well))
        const claimed = yield* claim(start + many)
        assert.sameMembers([...idsOf(claimed)], ids)
        assert.strictEqual((yield* settle(start, ...claimed.map((each) => settlement(each)))).size, 20)
        assert.isNull(yield* StoreFixtures.nextDue(start))
        const { states } = yield* store.summary(start)
        assert.deepEqual([states.cancelled, states.retrying, states.delivered], [many + 1, 0, 20])
        assert.isTrue(yield* integrations.remove((yield* integrations.find(dead.id)) ?? dead))
        assert.isAbove(yield* rowsOf(server, name, "queue"), many - 1)
      }).pipe(
        // With a batch size of 0, cancelled rows are never moved in the background, only by calls that depend on it.
        Effect.provide(onStore(server.url(name), 1_000).pipe(Layer.provide(Layer.succeed(CancellationBatch, 0))))
      )
    })
  )

  it.live("several new processes together move the rows left by an ended one, and count each once", () =>
    Effect.gen(function* () {
      const name = yield* newDatabase(server)
      const url = server.url(name)
      yield* Effect.gen(function* () {
        const dead = yield* createIntegration()
        yield* pileUp(server, name, dead, 9_000)
        yield* (yield* IntegrationStore).remove(dead)
      }).pipe(Effect.provide(onStore(url)))
      assert.strictEqual(yield* rowsOf(server, name, "endings"), 1)
      const comer = Effect.gen(function* () {
        const store = yield* DeliveryStore
        while ((yield* rowsOf(server, name, "endings")) > 0) {
          assert.strictEqual((yield* store.summary(start)).states.cancelled, 9_000)
          yield* StoreFixtures.heartbeat(start, "comer")
        }
        return (yield* store.summary(start)).states
      }).pipe(Effect.provide(onStore(url)))
      for (const states of yield* Effect.all([comer, comer, comer], { concurrency: "unbounded" })) {
        assert.deepEqual(
          deliveryStates.filter((state) => states[state] !== 0),
          ["cancelled"]
        )
      }
      assert.strictEqual(yield* rowsOf(server, name, "queue"), 0)
      assert.strictEqual(yield* rowsOf(server, name, "deliveries", "state = 'cancelled'"), 9_000)
    })
  )
})
