/**
 * Transactions take ids before they commit and may commit in any order. A feed must neither skip the deliveries of an
 * open transaction nor wait for its commit.
 */
import type { Event, Integration } from "@doorhook/core"
import { DeliveryStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"

const { createIntegration, enqueue, records } = StoreFixtures

const publishInSql = Effect.fnUntraced(function* (n: number) {
  const sql = yield* SqlClient.SqlClient
  const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: n } }
  yield* sql.unsafe(`SELECT doorhook.publish('${JSON.stringify(event)}'::text)`)
})

/** Runs an effect in a transaction that stays open until the test commits it. */
const keptOpen = Effect.fnUntraced(function* <E, R>(inside: Effect.Effect<unknown, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const done = yield* Deferred.make<void>()
  const commit = yield* Deferred.make<void>()
  const running = yield* inside.pipe(
    Effect.andThen(Deferred.succeed(done, undefined)),
    Effect.andThen(Deferred.await(commit)),
    sql.withTransaction,
    Effect.forkChild
  )
  yield* Deferred.await(done)
  return { commit: Effect.andThen(Deferred.succeed(commit, undefined), Fiber.join(running)) }
})

/** Finds publishers that have announced an id, in this database only. */
const announcements = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** The positions of a reader in both feeds, and of one that looks for buildings with new events. */
interface Cursor {
  deliveries: number
  events: number
  scopes: number
}

const beginning = (): Cursor => ({ deliveries: 0, events: 0, scopes: 0 })

const numberOf = ({ data }: Event): number => Number(/"id": ?(\d+)/.exec(data)?.[1])

/** Reads the rest of an integration's feed in pages of two, and returns the numbers of the events. */
const readOn = Effect.fnUntraced(function* (integration: Integration, cursor: Cursor) {
  const store = yield* DeliveryStore
  const read: Array<number> = []
  for (let more = true; more;) {
    const part = yield* store.feed({ integration_id: integration.id, after: cursor.deliveries, limit: 2 })
    read.push(...part.items.map(({ event }) => numberOf(event)))
    ;({ more, upTo: cursor.deliveries } = part)
  }
  return read
})

/** Like `readOn`, for the feed of the building. */
const readEvents = Effect.fnUntraced(function* (cursor: Cursor) {
  const store = yield* DeliveryStore
  const read: Array<number> = []
  for (let more = true; more;) {
    const part = yield* store.eventFeed({ scope: StoreFixtures.building(1), after: cursor.events, limit: 2 })
    read.push(...part.items.map(({ event }) => numberOf(event)))
    ;({ more, upTo: cursor.events } = part)
  }
  return read
})

/** Reads the rest of both feeds, which must have the same events. */
const readBoth = Effect.fnUntraced(function* (integration: Integration, cursor: Cursor) {
  const read = yield* readOn(integration, cursor)
  assert.deepEqual(yield* readEvents(cursor), read)
  const store = yield* DeliveryStore
  const { scopes, upTo } = yield* store.newScopes({ after: cursor.scopes, limit: 100 })
  assert.strictEqual(scopes.length > 0, read.length > 0, "readers are woken for new events, and for them alone")
  assert.strictEqual(upTo, cursor.events)
  cursor.scopes = upTo
  return read
})
type Publish = (
  n: number,
  integration: Integration
) => Effect.Effect<void, unknown, DeliveryStore | SqlClient.SqlClient>

const variants: Readonly<Record<string, Publish>> = {
  "by the store": (n, integration) => Effect.asVoid(enqueue(...records(n, n, integration))),
  "by the function": publishInSql
}

await describeOnPostgres("feeds", (server) => {
  for (const [how, publish] of Object.entries(variants)) {
    it.live(`a delivery or event that commits later with a smaller id is not skipped, published ${how}`, () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        yield* Effect.gen(function* () {
          const integration = yield* createIntegration()
          const cursor = beginning()
          yield* publish(1, integration)
          assert.deepEqual(yield* readBoth(integration, cursor), [1])
          const slow = yield* keptOpen(publish(2, integration))
          yield* publish(3, integration)
          const slower = yield* keptOpen(Effect.andThen(publish(4, integration), publish(5, integration)))
          yield* publish(6, integration)
          // The feed holds back delivery 3 until delivery 2 is committed. The read returns without waiting.
          assert.deepEqual(yield* readBoth(integration, cursor), [])
          yield* slow.commit
          assert.deepEqual(yield* readBoth(integration, cursor), [2, 3])
          yield* publish(7, integration)
          assert.deepEqual(yield* readBoth(integration, cursor), [])
          yield* slower.commit
          assert.deepEqual(yield* readBoth(integration, cursor), [4, 5, 6, 7])
        }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))))
      })
    )
  }

  for (const [parameters, words] of Object.entries({ "": "", "?locks=rows": ", with rows as locks" })) {
    it.live(`with constant publishing, every feed reads everything once, in order${words}`, () =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        yield* Effect.gen(function* () {
          const integration = yield* createIntegration()
          const publisher = (from: number) =>
            Effect.gen(function* () {
              const sql = yield* SqlClient.SqlClient
              for (let n = from; n < from + 40; n++) {
                if (n % 4 !== 0) yield* enqueue(...records(n, n, integration))
                else yield* sql.withTransaction(Effect.andThen(publishInSql(n), sql.unsafe("SELECT pg_sleep(0.03)")))
              }
            })
          const publishing = yield* Effect.forkChild(
            Effect.forEach([100, 201, 302, 403], publisher, { concurrency: "unbounded" })
          )
          const cursor = beginning()
          const read: Array<number> = []
          const ofBuilding = beginning()
          const events: Array<number> = []
          while (publishing.pollUnsafe() === undefined) {
            read.push(...(yield* readOn(integration, cursor)))
            events.push(...(yield* readEvents(ofBuilding)))
            yield* Effect.yieldNow
          }
          yield* Fiber.join(publishing)
          read.push(...(yield* readOn(integration, cursor)))
          assert.strictEqual(read.length, 160)
          assert.strictEqual(new Set(read).size, 160)
          events.push(...(yield* readEvents(ofBuilding)))
          assert.strictEqual(events.length, 160)
          assert.strictEqual(new Set(events).size, 160)
        }).pipe(
          Effect.provide(
            Layer.fresh(PostgresStore.layer({ url: Redacted.make(`${url}${parameters}`), maxConnections: 8 }))
          )
        )
      })
    )
  }

  it.live("a host that publishes many events in one transaction announces its ids once", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* createIntegration()
        const locks = yield* sql.withTransaction(
          Effect.gen(function* () {
            for (let n = 1; n <= 20; n++) yield* publishInSql(n)
            return yield* sql.unsafe(announcements)
          })
        )
        assert.strictEqual(locks.length, 2)
        assert.strictEqual((yield* sql.unsafe(announcements)).length, 0)
      }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))))
    })
  )
})
