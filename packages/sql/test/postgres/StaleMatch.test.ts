/**
 * Events are matched with cached integrations. Storing them checks that the cached integrations are complete and
 * unchanged.
 */
import type { Integration, MatchCandidate } from "@doorhook/core"
import { BuildingId, DeliveryStore, IntegrationStore, TenantId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { keptStore } from "./KeptStore.ts"

const { building, createIntegration, newEvent, record, start, tenant } = StoreFixtures

const scopes = { buildings: [BuildingId.make(1)], tenants: [TenantId.make(101), TenantId.make(102)] }

const matched = (cached: boolean) => IntegrationStore.use((store) => store.findByScopes({ ...scopes, cached }))

const key = { key: "k", fingerprint: "f", answer: "a", created_at: start, expires_at: start + 1 }

/**
 * Stores an event for some integrations, as a publisher does after matching. `candidates` are all integrations of the
 * event's scopes.
 */
const store = Effect.fnUntraced(function* (
  n: number,
  integrations: ReadonlyArray<Integration>,
  candidates: ReadonlyArray<MatchCandidate>,
  keys: ReadonlyArray<typeof key> = []
) {
  const deliveries = yield* DeliveryStore
  return yield* deliveries.enqueue([record(newEvent(n), ...integrations)], keys, candidates)
})

/** Changes to integrations between matching and storing. */
const changes = {
  "one of the building is created": () => createIntegration(),
  "one of a tenant is created": () => createIntegration({ scope: tenant(102) }),
  "one that did not match is changed": (_: Integration, other: Integration) =>
    IntegrationStore.use((integrations) =>
      integrations.update({ ...other, bindings: [{ resource_type: "access_log", actions: ["create"] }], version: 2 }, 1)
    ),
  "one is disabled": (one: Integration) =>
    IntegrationStore.use((integrations) =>
      integrations.update({ ...one, status: "disabled", disabled_reason: "manual", version: 2 }, 1)
    ),
  "one is deleted": (one: Integration) => IntegrationStore.use((integrations) => integrations.remove(one))
}

await describeOnPostgres("stale matches", (server) => {
  for (const [what, change] of Object.entries(changes)) {
    for (const keys of [[], [key]]) {
      it.live(`nothing is stored if ${what}${keys.length > 0 ? ", also in a transaction" : ""}`, () =>
        Effect.gen(function* () {
          const deliveries = yield* DeliveryStore
          const one = yield* createIntegration()
          const other = yield* createIntegration({ bindings: [{ resource_type: "call", actions: ["create"] }] })
          yield* store(1, [one], yield* matched(false))
          const remembered = yield* matched(true)
          yield* change(one, other)
          const stale = yield* Effect.flip(store(2, [one], remembered, keys))
          assert.strictEqual(stale._tag, "StaleMatch")
          assert.strictEqual((yield* deliveries.summary(start)).events, 1)
          // The idempotency key is still unused, so the event can be stored after matching it without the cache.
          const fresh = yield* matched(false)
          assert.strictEqual((yield* store(2, [], fresh, keys)).length, 1)
        }).pipe(Effect.provide(keptStore(server)))
      )
    }
  }

  it.live("an integration of another scope makes no match stale, and a cached match needs no query", () =>
    Effect.gen(function* () {
      const { name, url } = yield* pooledDatabase(server)
      yield* Effect.gen(function* () {
        const one = yield* createIntegration()
        const [read] = yield* matched(true)
        yield* createIntegration({ scope: building(2) })
        yield* createIntegration({ scope: tenant(103) })
        yield* Effect.promise(() => server.administer("ALTER TABLE doorhook.integrations RENAME TO hidden", name))
        const [known] = yield* matched(true)
        assert.strictEqual(known, read)
        yield* Effect.promise(() => server.administer("ALTER TABLE doorhook.hidden RENAME TO integrations", name))
        const [stored] = yield* store(1, [one], known === undefined ? [] : [known])
        assert.strictEqual(stored?.length, 1)
      }).pipe(Effect.provide(Layer.fresh(PostgresStore.layer({ url: Redacted.make(url) }))))
    })
  )

  it.live("an integration whose row can't be read is read each time, until it is repaired", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const one = yield* createIntegration()
      yield* sql.unsafe(`UPDATE doorhook.integrations SET overrides = 'damaged'`)
      assert.deepInclude((yield* matched(true))[0], { id: one.id, version: 1 })
      yield* sql.unsafe(`UPDATE doorhook.integrations SET overrides = '{}'`)
      assert.deepEqual(yield* matched(true), [one])
    }).pipe(Effect.provide(keptStore(server)))
  )
})
