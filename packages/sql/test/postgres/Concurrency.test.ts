/**
 * With several processes on one database, each delivery is leased to one worker at a time, a broken connection loses
 * nothing, transactions do not deadlock, and counts stay correct.
 */
import type { Integration, IntegrationId } from "@doorhook/core"
import {
  ClientId,
  DeliveryStore,
  deliveryStates,
  IntegrationStore,
  Settlements,
  TokenStore,
  UserId
} from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { times } from "@doorhook/testkit/Sample"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { CancellationBatch } from "../../src/stores/Cancellations.ts"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"

const {
  heartbeat,
  claim,
  claimRequest,
  createIntegration,
  enqueue,
  idsOf,
  nextDue,
  records,
  recover,
  resend,
  settle,
  settleAs,
  settlement,
  settleWithConsequences,
  start
} = StoreFixtures

const onStore = (url: string) => Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))

/** Finds connections to this database that wait for a lock, ignoring other databases on the server. */
const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_locks
  WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()))`

/** Publishes in the current transaction with the SQL function, as a host does. */
const publishTo = (building: number) => {
  const event = JSON.stringify({ resource_type: "access_log", action: "create", building_id: building, data: {} })
  return SqlClient.SqlClient.use((sql) => sql.unsafe(`SELECT publish('${event}'::text)`))
}

const gone = { state: "cancelled", reason: "integration_gone", gone: true } as const

/** Counts the stored rows directly. */
const counted = Effect.gen(function* () {
  const found = yield* (yield* DeliveryStore).list({ limit: 100_000 })
  return Object.fromEntries(
    deliveryStates.map((state) => [state, found.filter((delivery) => delivery.state === state).length])
  )
})

await describeOnPostgres("concurrency", (server) => {
  it.live("eight claiming processes get each of 1,000 deliveries once", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const fill = Effect.gen(function* () {
        const integrations = yield* Effect.replicateEffect(createIntegration(), 5)
        yield* enqueue(...records(1, 200, ...integrations))
      })
      yield* fill.pipe(Effect.provide(onStore(url)))
      const claimer = (index: number) =>
        Effect.gen(function* () {
          const taken: Array<number> = []
          for (;;) {
            const claimed = yield* claim(start, { limit: 25, worker: `claimer-${index}` })
            const applied = yield* settleAs(`claimer-${index}`, start, ...claimed.map((each) => settlement(each)))
            assert.strictEqual(applied.size, claimed.length)
            taken.push(...idsOf(claimed))
            if (claimed.length === 0 && (yield* nextDue(start)) === null) return taken
          }
        }).pipe(Effect.provide(onStore(url)))
      const all = (yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], claimer, { concurrency: "unbounded" })).flat()
      assert.strictEqual(all.length, 1_000)
      assert.strictEqual(new Set(all).size, 1_000)
      const { states } = yield* DeliveryStore.use((store) => store.summary(start)).pipe(Effect.provide(onStore(url)))
      assert.strictEqual(states.delivered, 1_000)
    })
  )

  it.live("all calls at once: no deadlock, and every delivery is counted in its state", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const integrationStore = yield* IntegrationStore
        const integrations = yield* Effect.replicateEffect(createIntegration(), 6)
        const [first] = integrations
        if (first === undefined) return assert.fail("no integration")

        const publisher = (index: number) =>
          Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], (round) => {
            // The order differs, because processes may match integrations in any order.
            const order = index % 2 === 0 ? integrations : integrations.toReversed()
            const from = index * 1_000 + round * 20
            return enqueue(...records(from, from + 9, ...order))
          })
        const worker = (index: number) =>
          Effect.forEach(Array(25).keys(), (round) =>
            Effect.gen(function* () {
              const by = `worker-${index}`
              // Lets some memberships lapse, so some deliveries are released before they are settled.
              yield* store.heartbeat({ worker: by, now: start + round, until: start + round + (round % 3) })
              const claimed = yield* claim(start + round, { limit: 30, worker: by })
              const settlements = claimed.map((each, at) =>
                (at + round) % 29 === 0
                  ? settlement(each, { state: "cancelled", reason: "integration_gone", gone: true })
                  : at % 3 === 0
                    ? settlement(each, { state: "retrying", next_attempt_at: start + round + 1 })
                    : settlement(each, { state: at % 3 === 1 ? "delivered" : "exhausted" })
              )
              // Settlements need not be in order of id.
              yield* settleAs(by, start + round, ...settlements.toReversed())
            })
          )
        const enable = (integration: Integration) =>
          Effect.gen(function* () {
            const found = yield* integrationStore.find(integration.id)
            if (found === null) return
            const { version } = found
            const to = { ...found, version: version + 1, disabled_reason: null, status: "enabled" } as const
            yield* integrationStore.update(to, version)
          })
        /** Removes an integration. Retries if disabling the integration has changed its version. */
        const remove = Effect.fnUntraced(function* (id: IntegrationId) {
          for (;;) {
            const found = yield* integrationStore.find(id)
            if (found === null || (yield* integrationStore.remove(found))) return
          }
        })
        const operator = Effect.forEach(Array(25).keys(), (round) =>
          Effect.gen(function* () {
            const integration = integrations[round % integrations.length] ?? first
            yield* enable(integration)
            yield* recover(integration.id, 0, start + round)
            for (const { id } of (yield* store.list({ integration_id: integration.id, limit: 5 })).toReversed()) {
              yield* resend(id, start + round)
            }
            if (round === 20) yield* remove(first.id)
          })
        )
        yield* Effect.all([...[1, 2, 3].map(publisher), ...[1, 2, 3].map(worker), operator, operator], {
          concurrency: "unbounded",
          discard: true
        })
        const { events, states } = yield* store.summary(start)
        assert.strictEqual(events, 240)
        assert.deepEqual(states, yield* counted)
        const left = yield* store.list({ integration_id: first.id, limit: 100_000 })
        assert.isTrue(left.every(({ next_attempt_at }) => next_attempt_at === null))
        // Moves cancelled deliveries a few at a time, so that moving overlaps with other calls.
      }).pipe(Effect.provide(onStore(url).pipe(Layer.provide(Layer.succeed(CancellationBatch, 3)))))
    })
  )

  it.live("heartbeats that end each other's memberships: no deadlock", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      const worker = (index: number) =>
        Effect.forEach(Array(times(150, 500)).keys(), (round) =>
          DeliveryStore.use((store) =>
            store.heartbeat({ worker: `worker-${index}`, now: start + round, until: start + round + (round % 3) })
          )
        )
      yield* Effect.all([1, 2, 3].map(worker), { concurrency: "unbounded", discard: true }).pipe(
        Effect.provide(onStore(url))
      )
    })
  )

  it.live("old events are purged during all other calls: no deadlock, no partial purge, and counts stay right", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const integrations = yield* Effect.replicateEffect(createIntegration(), 3)
        const publisher = Effect.forEach(Array(20).keys(), (round) =>
          enqueue(...records(round * 20, round * 20 + 9, ...integrations))
        )
        const worker = (index: number) =>
          Effect.forEach(Array(30).keys(), (round) =>
            Effect.gen(function* () {
              const claimed = yield* claim(start + round, { limit: 40, worker: `worker-${index}` })
              const endings = ["delivered", "exhausted", "expired"] as const
              const settlements = claimed.map((each, at) => settlement(each, { state: endings[at % 3] ?? "delivered" }))
              yield* settleAs(`worker-${index}`, start + round, ...settlements)
            })
          )
        const operator = Effect.forEach(Array(30).keys(), (round) =>
          Effect.gen(function* () {
            const integration = integrations[round % 3]
            if (integration === undefined) return
            if (round % 5 === 0) yield* recover(integration.id, 0, start + round)
            for (const { id } of yield* store.list({ integration_id: integration.id, limit: 5 })) {
              yield* resend(id, start + round)
            }
          })
        )
        const working = yield* Effect.all([publisher, worker(1), worker(2), operator, operator], {
          concurrency: "unbounded",
          discard: true
        }).pipe(Effect.forkChild)
        const purger = Effect.gen(function* () {
          let purged = 0
          let after = 0
          while (working.pollUnsafe() === undefined) {
            const { events, next } = yield* store.purge({ before: start + 1, now: start + 1, after, limit: 7 })
            purged += events
            after = next ?? 0
            yield* Effect.yieldNow
          }
          return purged
        })
        const [purged, too] = yield* Effect.all([purger, purger], { concurrency: "unbounded" })
        yield* Fiber.join(working)
        const { events, states } = yield* store.summary(start)
        assert.isAbove(purged + too, 0)
        assert.strictEqual(events, 200 - purged - too)
        assert.deepEqual(states, yield* counted)
        const left = yield* store.list({ limit: 100_000 })
        for (const { id } of left) assert.isNotNull((yield* store.find(id))?.event)
      }).pipe(Effect.provide(onStore(url)))
    })
  )

  it.live("workers whose batches fail together disable an integration once, with one notification", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const store = yield* DeliveryStore
        const [one, other] = [yield* createIntegration(), yield* createIntegration()]
        yield* enqueue(...records(1, 40, one, other))
        const fail = (now: number) =>
          Effect.forEach(
            [1, 2, 3, 4, 5, 6],
            (worker) =>
              Effect.gen(function* () {
                const by = `worker-${worker}`
                const claimed = yield* claim(now, { limit: 20, worker: by })
                const settlements = claimed.map((each) => StoreFixtures.retryAt(each, now + 1)).toReversed()
                return yield* StoreFixtures.settleOutcomes(now, { worker: by, settlements })
              }),
            { concurrency: "unbounded" }
          )
        yield* fail(start)
        const warned = yield* Effect.forEach(
          [1, 2, 3, 4],
          () => store.warn(start + StoreFixtures.disableAfter / 2, StoreFixtures.disableAfter, 10),
          { concurrency: "unbounded" }
        )
        assert.deepEqual(
          warned.flat().map(({ integration_id }) => integration_id),
          [one.id, other.id]
        )
        const ends = yield* fail(start + StoreFixtures.disableAfter)
        assert.deepEqual(
          ends.flatMap(({ changed }) => changed).toSorted((a, b) => a - b),
          [one.id, other.id]
        )
        const notifications = yield* store.notifications({ limit: 100 })
        assert.deepEqual(notifications.map(({ integration_id, kind }) => `${kind} ${integration_id}`).toSorted(), [
          `disabled ${one.id}`,
          `disabled ${other.id}`,
          `failing ${one.id}`,
          `failing ${other.id}`
        ])
        const { states } = yield* store.summary(start)
        assert.strictEqual(states.cancelled, 80)
        assert.deepEqual(states, yield* counted)
      }).pipe(Effect.provide(onStore(url)))
    })
  )

  it.live("counts are compacted by several processes during publications, and stay right at every moment", () =>
    Effect.gen(function* () {
      const { name, url } = yield* pooledDatabase(server)
      const many = 9_000
      const inSql = JSON.stringify({ resource_type: "access_log", action: "create", building_id: 1, data: {} })
      const rows = Effect.map(
        Effect.promise(() => server.administer("SELECT count(*) FROM doorhook.tallies", name)),
        ([row]) => Number(row?.["count"])
      )
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const beater = Effect.gen(function* () {
          const beats = yield* DeliveryStore
          while ((yield* rows) > 200) {
            yield* heartbeat(start, "beater")
            assert.strictEqual((yield* beats.summary(start)).events, many)
          }
        }).pipe(Effect.provide(onStore(url)))
        // A failing compaction does not affect publications.
        yield* sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE 'not now'; END $$`)
        yield* sql.unsafe("CREATE TRIGGER refused BEFORE DELETE ON tallies EXECUTE FUNCTION refuse()")
        const integration = yield* createIntegration()
        yield* Effect.forEach(Array(400).keys(), (n) => enqueue(...records(n, n, integration)), { concurrency: 4 })
        yield* heartbeat(start, "beater")
        yield* sql.unsafe(`SELECT publish('${inSql}'::text) FROM generate_series(1, ${many - 400})`)
        assert.strictEqual(yield* rows, many)
        yield* sql.unsafe("DROP FUNCTION refuse CASCADE")
        yield* Effect.all([beater, beater], { concurrency: "unbounded" })
      }).pipe(Effect.provide(onStore(url)))
    })
  )

  it.live.each(["commits", "is rolled back"])(
    "a host's transaction that publishes to a receiver that is gone blocks nothing; once it %s, the next 410 disables",
    (end) =>
      Effect.gen(function* () {
        const { url } = yield* pooledDatabase(server)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const store = yield* DeliveryStore
          const inBuilding = (id: number) => createIntegration({ scope: StoreFixtures.building(id) })
          const [one, other, sound] = [yield* inBuilding(1), yield* inBuilding(2), yield* inBuilding(3)]
          yield* enqueue(...records(1, 1, one, other, sound))
          const settling = (now: number) =>
            Effect.gen(function* () {
              const claimed = yield* claim(now)
              const settled = yield* settleWithConsequences(
                now,
                ...claimed.map((each) => settlement(each, each.integration.id === sound.id ? {} : gone))
              )
              const ids = claimed.map(({ integration }) => integration.id).toSorted((a, b) => a - b)
              return { ...settled, ids }
            }).pipe(Effect.provide(onStore(url)))
          yield* sql
            .withTransaction(
              Effect.gen(function* () {
                yield* publishTo(2)
                const { changed, hasDueDeliveries, ids } = yield* settling(start)
                assert.deepEqual(ids, [one.id, other.id, sound.id])
                // No open transaction publishes to `one`, so it is disabled immediately. The open transaction publishes
                // to `other`, so doorhook can't disable it yet and retries the delivery.
                assert.deepEqual([changed, hasDueDeliveries], [[one.id], true])
                yield* publishTo(1)
                yield* enqueue(...records(2, 2, sound)).pipe(Effect.provide(onStore(url)))
                assert.deepEqual((yield* settling(start + 1)).ids, [sound.id])
                const again = yield* settling(start + Settlements.goneRetryDelay)
                assert.deepEqual([again.ids, again.changed], [[other.id], []])
                if (end !== "commits") return yield* Effect.fail("rolled back" as const)
              })
            )
            .pipe(Effect.catch((error) => (error === "rolled back" ? Effect.void : Effect.fail(error))))
          const last = yield* settling(start + 3 * Settlements.goneRetryDelay)
          assert.deepEqual(last.changed, [other.id])
          assert.deepEqual(
            last.notifications.map(({ integration_id, kind }) => [kind, integration_id]),
            [["disabled", other.id]]
          )
          assert.strictEqual((yield* (yield* IntegrationStore).find(other.id))?.disabled_reason, "gone")
          const { states } = yield* store.summary(start)
          assert.deepEqual(states, yield* counted)
          // Disabling `other` cancelled the host's delivery to it. The host's delivery to `one` was skipped, because
          // `one` was already disabled.
          const published = end === "commits" ? 1 : 0
          assert.deepEqual(
            [states.delivered, states.cancelled, states.skipped, states.pending + states.retrying],
            [2, 2 + published, published, 0]
          )
        }).pipe(Effect.provide(onStore(url)))
      })
  )

  it.live("a host's open transaction blocks no outcome, even of a failing integration, but a change of it waits", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const integration = yield* createIntegration({ scope: StoreFixtures.building(1) })
        yield* enqueue(...records(1, 1, integration))
        const claimed = yield* claim(start)
        const publish = publishTo(1)
        const disable = IntegrationStore.use((store) =>
          store.update({ ...integration, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
        )
        const waits = sql.unsafe(waiting)
        const changing = yield* Effect.scoped(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql.unsafe("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
              yield* publish
              const failed = settle(start, ...claimed.map((each) => StoreFixtures.retryAt(each, start + 5_000)))
              assert.strictEqual((yield* Effect.provide(failed, onStore(url))).size, 1)
              // The failure was recorded after the host's snapshot was taken. Publishing again does not conflict with
              // that change.
              yield* publish
              const changing = yield* disable.pipe(Effect.provide(onStore(url)), Effect.forkDetach)
              while ((yield* waits).length === 0) yield* Effect.yieldNow
              return changing
            })
          )
        )
        assert.isTrue(yield* Fiber.join(changing))
        const { states } = yield* (yield* DeliveryStore).summary(start)
        assert.deepEqual(states, yield* counted)
        // Disabling the integration waited for the host's transaction, and cancelled its deliveries as well.
        assert.deepEqual([states.cancelled, states.pending], [3, 0])
      }).pipe(Effect.provide(onStore(url)))
    })
  )

  it.live("a client is removed while its user revokes all grants: no deadlock", () =>
    Effect.gen(function* () {
      const { url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const tokens = yield* TokenStore
        // The creation times are in reverse order of the rows.
        yield* sql.unsafe(`INSERT INTO grants (id, user_id, client_id, scope, created_at)
          VALUES ('g1', 'user', 'client', 'public', 2), ('g2', 'user', 'client', 'public', 1)`)
        const waiters = (count: number) => Effect.repeat(sql.unsafe(waiting), { while: ({ length }) => length < count })
        const revoking = <A, E>(call: Effect.Effect<A, E, TokenStore>) =>
          Effect.forkDetach(Effect.provide(call, onStore(url)))
        const revoked = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql.unsafe("SELECT id FROM grants WHERE id = 'g1' FOR UPDATE")
            const ofClient = yield* revoking(
              TokenStore.use((store) => store.revokeGrantsTo(ClientId.make("client"), 5))
            )
            yield* waiters(1)
            const ofUser = yield* revoking(
              TokenStore.use((store) => store.revokeGrantsOf(UserId.make("user"), null, 6))
            )
            yield* waiters(2)
            return Effect.andThen(Fiber.join(ofClient), Fiber.join(ofUser))
          })
        )
        yield* revoked
        assert.deepEqual(yield* tokens.grantsOf(UserId.make("user"), 9), [])
        const rows = yield* sql.unsafe<{ readonly revoked_at: number }>("SELECT revoked_at FROM grants")
        assert.deepEqual(
          rows.map(({ revoked_at }) => revoked_at),
          [5, 5]
        )
      }).pipe(Effect.provide(onStore(url)))
    })
  )

  it.live("a connection that breaks during a transaction rolls it back, and the next call works", () =>
    Effect.gen(function* () {
      const { name, url } = yield* pooledDatabase(server)
      const killOthers = Effect.promise(() =>
        server.administer(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = '${name}' AND application_name = 'doorhook' AND pid <> pg_backend_pid()`,
          name
        )
      )
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const store = yield* DeliveryStore
        const integration = yield* createIntegration()
        yield* enqueue(...records(1, 10, integration))
        const request = claimRequest(start)
        const broken = yield* store.claim(request).pipe(
          Effect.tap(({ deliveries }) => settle(start, ...deliveries.map((each) => settlement(each)))),
          Effect.tap(() => enqueue(...records(11, 20, integration))),
          Effect.andThen(killOthers),
          Effect.andThen(store.summary(start)),
          sql.withTransaction,
          Effect.exit
        )
        assert.strictEqual(broken._tag, "Failure")
        // A retry may get another broken connection, until the pool has replaced all of them.
        const patiently = Effect.retry({ times: 10 })
        const { events, states } = yield* patiently(store.summary(start))
        assert.deepEqual([events, states.pending, states.delivered], [10, 10, 0])
        assert.strictEqual((yield* patiently(store.claim(request))).deliveries.length, 10)
        // Opens all connections of the pool.
        yield* Effect.forEach(Array(20).keys(), () => store.summary(start), { concurrency: "unbounded" })
        yield* killOthers
        const summaries = yield* Effect.forEach(Array(20).keys(), () => patiently(store.summary(start)), {
          concurrency: "unbounded"
        })
        assert.deepEqual(new Set(summaries.map(({ states }) => states.delivering)), new Set([10]))
      }).pipe(Effect.provide(onStore(url)))
    })
  )
})
