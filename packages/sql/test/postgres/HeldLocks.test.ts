/**
 * What another transaction holds is postponed, and the rest is done now: no call of the delivery path waits for a lock.
 */
import type { Integration, LeasedDelivery } from "@doorhook/core"
import { callEndType, DeliveryStore, IdempotencyConflict, IntegrationStore } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"

const {
  attempt,
  claim,
  createIntegration,
  disableAfter,
  enqueue,
  findDelivery,
  newEvent,
  record,
  records,
  retryAt,
  settlement,
  start,
  worker
} = StoreFixtures

const onStore = (url: string) => Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))

const failed = (leased: LeasedDelivery) => ({
  ...retryAt(leased, start + 5_000),
  attempt: attempt(1, { outcome: "bad_status", status: 500 })
})

await describeOnPostgres("locks that another transaction holds", (server) => {
  /** Runs a test while a transaction of another connection holds the locks of `statement`. */
  const holding = <A, E, R, B, F>(
    statement: string,
    values: ReadonlyArray<unknown>,
    during: Effect.Effect<A, E, R>,
    after: (result: A) => Effect.Effect<B, F, R>
  ) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const result = yield* sql.withTransaction(Effect.andThen(sql.unsafe(statement, values), during))
      return yield* after(result)
    })

  const withStore = <A, E>(
    test: (other: ReturnType<typeof onStore>) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof onStore>>>
  ) => Effect.flatMap(pooledDatabase(server), ({ url }) => Effect.provide(test(onStore(url)), onStore(url)))

  const settleAll = (leased: ReadonlyArray<LeasedDelivery>) =>
    DeliveryStore.use((store) =>
      store.settle({ worker, settlements: leased.map(failed), releases: [] }, start + 1, disableAfter)
    )

  const held = {
    "its integration":
      "SELECT 1 FROM integrations WHERE id = (SELECT integration_id FROM queue WHERE id = $1) FOR UPDATE",
    "the delivery": "SELECT 1 FROM queue WHERE id = $1 FOR UPDATE"
  }
  for (const [what, statement] of Object.entries(held)) {
    it.live(`an outcome is postponed while another transaction holds ${what}, and the others are recorded`, () =>
      withStore((other) =>
        Effect.gen(function* () {
          yield* enqueue(...records(1, 1, yield* createIntegration(), yield* createIntegration()))
          const leased = yield* claim(start)
          const [first, second] = leased
          if (first === undefined || second === undefined) return assert.fail("nothing claimed")
          const during = Effect.provide(settleAll(leased), other)
          yield* holding(statement, [first.id], during, ({ applied, postponed }) =>
            Effect.gen(function* () {
              assert.deepEqual([applied, postponed], [new Set([second.id]), new Set([first.id])])
              assert.strictEqual((yield* findDelivery(first.id)).state, "delivering")
              const again = yield* settleAll([first])
              assert.deepEqual([again.applied, again.postponed.size], [new Set([first.id]), 0])
            })
          )
          const failing = yield* (yield* IntegrationStore).findWithHealth(first.integration.id)
          assert.isNotNull(failing?.failing, "the consequences are not lost")
        })
      )
    )
  }

  it.live("an acknowledgement and a release are postponed while another transaction holds their deliveries", () =>
    withStore((other) =>
      Effect.gen(function* () {
        yield* enqueue(...records(1, 3, yield* createIntegration()))
        const leased = yield* claim(start)
        const ids = leased.map(({ id }) => id)
        const [acknowledged, released, free] = leased
        if (acknowledged === undefined || released === undefined || free === undefined) return assert.fail("no claim")
        const settling = DeliveryStore.use((store) => {
          const releases = [{ delivery_id: released.id, due_at: start + 9 }]
          const settlements = [settlement(acknowledged), settlement(free)]
          return store.settle({ worker, settlements, releases }, start + 1, disableAfter)
        })
        const twoHeld = "SELECT 1 FROM queue WHERE id = ANY($1::bigint[]) ORDER BY id LIMIT 2 FOR UPDATE"
        yield* holding(twoHeld, [`{${ids.join(",")}}`], Effect.provide(settling, other), ({ applied, postponed }) =>
          Effect.gen(function* () {
            assert.deepEqual([applied, postponed], [new Set([free.id]), new Set([acknowledged.id, released.id])])
            const again = yield* settling
            assert.deepEqual([again.applied, again.postponed.size], [new Set([acknowledged.id]), 0])
          })
        )
        assert.strictEqual((yield* findDelivery(released.id)).state, "pending")
      })
    )
  )

  const changes = {
    integration_disabled: `UPDATE integrations SET status = 'disabled', disabled_reason = 'manual', version = 2
      WHERE id = (SELECT id FROM integrations WHERE id = $1 FOR UPDATE)`,
    integration_deleted: "DELETE FROM integrations WHERE id = $1"
  }
  const inSql = JSON.stringify({
    resource_type: "access_log",
    action: "create",
    building_id: 2,
    tenant_ids: [3],
    data: {}
  })
  type Publishing = Effect.Effect<unknown, never, DeliveryStore | SqlClient.SqlClient>
  const ways: Readonly<Record<string, (integration: Integration) => Publishing>> = {
    "a publication": (integration) => Effect.orDie(enqueue(record(newEvent(1), integration))),
    "a host's transaction that publishes": () =>
      SqlClient.SqlClient.use((sql) =>
        Effect.orDie(sql.withTransaction(sql.unsafe("SELECT doorhook.publish($1::text)", [inSql])))
      )
  }
  for (const [way, publishing] of Object.entries(ways)) {
    for (const [reason, change] of Object.entries(changes)) {
      it.live(`${way} does not wait for a change, and its delivery is then cancelled as ${reason}`, () =>
        withStore((other) =>
          Effect.gen(function* () {
            const scope = StoreFixtures.building(2)
            const [held, free] = [yield* createIntegration({ scope }), yield* createIntegration({ scope })]
            yield* holding(change, [held.id], Effect.provide(publishing(held), other), () =>
              Effect.gen(function* () {
                const claimed = yield* claim(Date.now() + 60_000)
                const ids = claimed.map(({ integration }) => integration.id)
                assert.deepEqual(ids, way === "a publication" ? [] : [free.id])
                const [delivery] = yield* (yield* DeliveryStore).list({ integration_id: held.id, limit: 2 })
                assert.deepEqual([delivery?.state, delivery?.reason], ["cancelled", reason])
              })
            )
          })
        )
      )
    }
  }

  it.live("the end of a call does not wait for a transaction that publishes the call and stays open", () =>
    withStore((other) =>
      Effect.gen(function* () {
        const integration = yield* createIntegration()
        const ring = { ...record(newEvent(1, { resource_type: "call" }), integration), call: { id: "1", isEnd: false } }
        const hangUp = { ...record(newEvent(2, { resource_type: callEndType })), call: { id: "1", isEnd: true } }
        const log = record(newEvent(3), integration)
        const sql = yield* SqlClient.SqlClient
        const [id] = yield* sql.withTransaction(
          Effect.gen(function* () {
            const ids = yield* enqueue(ring)
            assert.lengthOf(yield* Effect.provide(enqueue(hangUp, log), other), 1)
            return ids
          })
        )
        assert.strictEqual((yield* findDelivery(id ?? assert.fail("no delivery"))).state, "pending")
      })
    )
  )

  it.live("a publication does not wait for an idempotency key in use", () =>
    withStore((other) =>
      Effect.gen(function* () {
        const integration = yield* createIntegration()
        const key = { key: "k", fingerprint: "f", answer: "a", created_at: start, expires_at: start + 9 }
        const { id, version } = integration
        const publishing = (n: number) =>
          DeliveryStore.use((store) => store.enqueue([record(newEvent(n), integration)], [key], [{ id, version }]))
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* publishing(1)
            const refused = yield* Effect.flip(Effect.provide(publishing(2), other))
            assert.deepEqual(refused, new IdempotencyConflict({ key: "k", busy: ["k"] }))
          })
        )
        const taken = yield* Effect.flip(publishing(2))
        assert.deepEqual(taken, new IdempotencyConflict({ key: "k" }))
      })
    )
  )
})
