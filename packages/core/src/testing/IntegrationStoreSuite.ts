/**
 * The contract of `IntegrationStore`. The cases also use the store's `DeliveryStore`.
 */
import { Effect, Redacted } from "effect"
import { BuildingId, ClientId, GrantId, IntegrationId, TenantId, UserId } from "../model/Ids.ts"
import type { Integration, Scope } from "../model/Integration.ts"
import type { Subscription } from "../model/Subscription.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { IntegrationFilter } from "../ports/IntegrationStore.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import {
  building,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  findDelivery,
  newIntegration,
  nothingOf,
  records,
  settle,
  settlement,
  start,
  tenant
} from "./Fixtures.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { concurrently, expectEqual } from "./SuiteCase.ts"

export const cases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "an integration is stored as it was created",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const fields = newIntegration({
        scope: tenant(9_007_199_254_740_991),
        configuration: { url: "https://receiver.example/hook?a=1&b=\u00e9%20", method: "post" },
        bindings: [
          { resource_type: "call", actions: ["create"] },
          { resource_type: "access_log", actions: [] }
        ],
        name: "Concierge \u{1f514} \u00e9",
        description: "First line\nsecond line",
        detail: "thin",
        status: "disabled",
        disabled_reason: "failing",
        signing_secret: Redacted.make("whsec_/+=aA0"),
        previous_secrets: [
          { secret: Redacted.make("whsec_b2xk"), until: 1_893_456_000_124 },
          { secret: Redacted.make("whsec_b2xkZXI="), until: 1_893_456_000_123 }
        ],
        overrides: {
          acknowledge: "2xx",
          retry: { access_log: [5_000, 0], call: [] },
          allow_targets: ["10.0.0.0/8"],
          headers: { "x-api-key": Redacted.make("swordfish") },
          requests_per_second: 0.5
        },
        subscription: {
          id: "sub_1",
          name: "call.create",
          grant_id: GrantId.make("grant"),
          expires_at: start + 1,
          cursor: "a cursor"
        },
        version: 7,
        created_at: 1_893_456_000_123
      })
      const created = yield* store.create(fields)
      yield* expectEqual("created", created, { id: created.id, ...fields })
      yield* expectEqual("found", yield* store.find(created.id), created)
      yield* expectEqual("unknown", yield* store.find(IntegrationId.make(created.id + 1)), null)
    })
  },
  {
    name: "ids are ascending and never used again",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const first = yield* createIntegration()
      const second = yield* createIntegration()
      yield* expectEqual("growing", second.id > first.id, true)
      yield* store.remove(second)
      yield* store.remove(first)
      const third = yield* createIntegration()
      yield* expectEqual("growing still", third.id > second.id, true)
    })
  },
  {
    name: "`list` returns the integrations of one scope page by page, in the order of creation",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const ofBuilding = yield* Effect.replicateEffect(createIntegration({ scope: building(3) }), 5)
      const ofTenant = yield* createIntegration({ scope: tenant(3) })
      yield* createIntegration({ scope: building(4) })
      const page = (offset: number, limit: number) => store.list(building(3), { offset, limit })
      yield* expectEqual("first page", yield* page(0, 2), { items: ofBuilding.slice(0, 2), total: 5 })
      yield* expectEqual("second page", yield* page(2, 2), { items: ofBuilding.slice(2, 4), total: 5 })
      yield* expectEqual("last page", yield* page(4, 2), { items: ofBuilding.slice(4), total: 5 })
      yield* expectEqual("beyond", yield* page(6, 2), { items: [], total: 5 })
      const tenants = yield* store.list(tenant(3), { offset: 0, limit: 10 })
      yield* expectEqual("a tenant with the same number", tenants, { items: [ofTenant], total: 1 })
      const none = yield* store.list(tenant(5), { offset: 0, limit: 10 })
      yield* expectEqual("a scope without any", none, { items: [], total: 0 })
    })
  },
  {
    name: "for one client, `list` returns and counts only the integrations that this client created",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const created_by = { user_id: UserId.make("user"), client_id: ClientId.make("other client") }
      const first = yield* createIntegration({ scope: building(3), created_by })
      yield* createIntegration({ scope: building(3) })
      const second = yield* createIntegration({ scope: building(3), created_by })
      yield* createIntegration({ scope: building(4), created_by })
      const page = (offset: number, client: string) =>
        store.list(building(3), { offset, limit: 1, client_id: ClientId.make(client) })
      yield* expectEqual("first page", yield* page(0, "other client"), { items: [first], total: 2 })
      yield* expectEqual("second page", yield* page(1, "other client"), { items: [second], total: 2 })
      yield* expectEqual("beyond", yield* page(2, "other client"), { items: [], total: 2 })
      yield* expectEqual("a client without any", yield* page(0, "Other client"), { items: [], total: 0 })
      const all = yield* store.list(building(3), { offset: 0, limit: 10 })
      yield* expectEqual("of all clients", all.total, 3)
    })
  },
  {
    name: "`subscriptions` returns subscriptions and nothing else, by grant and id, and follows changes",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const of = (grant: string) => ({
        id: "sub_1",
        name: "access_log.create",
        grant_id: GrantId.make(grant),
        expires_at: start,
        cursor: ""
      })
      const b1 = yield* createIntegration({ subscription: of("b") })
      const a = yield* createIntegration({ subscription: of("a") })
      const plain = yield* createIntegration()
      const b2 = yield* createIntegration({ subscription: of("b"), scope: tenant(2) })
      const page = (grant_id: GrantId | "", id: IntegrationId | 0, limit: number) =>
        store.subscriptions({ grant_id, id }, limit)
      const place = (one: Integration) => ({ grant_id: one.subscription?.grant_id ?? "", id: one.id })
      yield* expectEqual("all", yield* page("", 0, 9), { items: [a, b1, b2], next: null })
      yield* expectEqual("first page", yield* page("", 0, 2), { items: [a, b1], next: place(b1) })
      yield* expectEqual("next page", yield* page(GrantId.make("b"), b1.id, 2), { items: [b2], next: null })
      yield* expectEqual("of one grant", yield* page(GrantId.make("b"), 0, 2), { items: [b1, b2], next: place(b2) })
      const moved = { ...b1, subscription: of("c"), version: 2 }
      yield* expectEqual("changed", yield* store.update(moved, 1), true)
      yield* store.update({ ...plain, version: 2 }, 1)
      yield* store.remove(a)
      yield* expectEqual("after changes", yield* page("", 0, 9), { items: [b2, moved], next: null })
      yield* expectEqual("one", yield* store.find(b1.id), moved)
    })
  },
  {
    name: "`create` never exceeds the limit of a scope, even with concurrent calls",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const create = (scope: Scope, key: string, limit?: number, subscription?: Subscription) =>
        store
          .create(
            newIntegration({ scope, ...(subscription !== undefined && { subscription }) }),
            { key: `${scope.id} ${key}`, fingerprint: "f", created_at: start, expires_at: start + 1_000 },
            limit
          )
          .pipe(Effect.match({ onSuccess: () => "created", onFailure: ({ _tag }) => _tag }))
      yield* expectEqual("an integration of another scope", yield* create(tenant(5), "tenant"), "created")
      // Repeated, because concurrent calls might not overlap before a store has opened enough connections.
      for (const scope of [building(5), building(6), building(7), building(8)]) {
        yield* create(scope, "a", 3)
        yield* create(scope, "b", 3)
        const answers = yield* concurrently(10, (n) => create(scope, String(n), 3))
        yield* expectEqual("at once", answers.toSorted(), [
          ...Array.from({ length: 9 }, () => "LimitReached"),
          "created"
        ])
        const { items, total } = yield* store.list(scope, { offset: 0, limit: 10 })
        yield* expectEqual("stored", total, 3)
        // The used key is reported even if the scope is full, so a repeated request gets its first answer.
        yield* expectEqual("with a used key", yield* create(scope, "a", 3), "IdempotencyConflict")
        yield* expectEqual("with a lower limit", yield* create(scope, "c", 2), "LimitReached")
        yield* expectEqual("without a limit", yield* create(scope, "c"), "created")
        const subscription = {
          id: "s",
          name: "call.create",
          grant_id: GrantId.make("g"),
          expires_at: start,
          cursor: ""
        }
        yield* expectEqual("a subscription", yield* create(scope, "s1", 1, subscription), "created")
        yield* expectEqual("another one", yield* create(scope, "s2", 1, subscription), "LimitReached")
        for (const integration of items.slice(0, 2)) yield* store.remove(integration)
        yield* expectEqual("with a place again", yield* create(scope, "d", 3), "created")
      }
    })
  },
  {
    name: "`update` replaces an integration only if it has the expected version",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const created = yield* createIntegration()
      const changed = {
        ...created,
        configuration: { url: "http://10.0.0.1:8080/", method: "post" },
        bindings: [{ resource_type: "call", actions: ["create"] }],
        name: "Lobby",
        description: "By the entrance",
        detail: "redacted",
        signing_secret: Redacted.make("whsec_bmV3"),
        version: 2,
        updated_at: start + 5
      } as const
      yield* expectEqual("expected", yield* store.update(changed, 1), true)
      yield* expectEqual("found", yield* store.find(created.id), changed)
      yield* expectEqual("outdated", yield* store.update({ ...created, version: 2 }, 1), false)
      yield* expectEqual("still", yield* store.find(created.id), changed)
      yield* store.remove(changed)
      yield* expectEqual("gone", yield* store.update({ ...changed, version: 3 }, 2), false)
      yield* expectEqual("not brought back", yield* store.find(created.id), null)
    })
  },
  {
    name: "of concurrent updates to the same version, one succeeds",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const created = yield* createIntegration()
      const changed = (n: number) => ({ ...created, version: 2, updated_at: start + n })
      const answers = yield* concurrently(20, (n) => store.update(changed(n), 1))
      yield* expectEqual("winners", answers.filter(Boolean).length, 1)
      yield* expectEqual("found", yield* store.find(created.id), changed(answers.indexOf(true)))
    })
  },
  {
    name: "of concurrent updates and removals of the same version, one succeeds",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      for (const isUpdate of [(n: number) => n % 2 === 0, (n: number) => n % 2 === 1]) {
        const created = yield* createIntegration()
        const changed = { ...created, version: 2, updated_at: start + 1 }
        const answers = yield* concurrently(20, (n) => (isUpdate(n) ? store.update(changed, 1) : store.remove(created)))
        yield* expectEqual("winners", answers.filter(Boolean).length, 1)
        yield* expectEqual("found", yield* store.find(created.id), isUpdate(answers.indexOf(true)) ? changed : null)
      }
    })
  },
  {
    name: "disabling an integration cancels its waiting deliveries; enabling it does not restore them",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const integration = yield* createIntegration()
      const ids = yield* enqueue(...records(1, 3, integration))
      yield* settle(start, settlement(yield* claimOne(start)))
      const off = { ...integration, status: "disabled", disabled_reason: "manual", version: 2 } as const
      yield* store.update(off, 1)
      const stands = Effect.forEach(ids, (id) => Effect.map(findDelivery(id), ({ reason, state }) => [state, reason]))
      const cancelled = ["cancelled", "integration_disabled"]
      yield* expectEqual("deliveries", yield* stands, [["delivered", null], cancelled, cancelled])
      yield* store.update({ ...integration, version: 3 }, 2)
      yield* expectEqual("claimed", yield* claim(start + 1), [])
    })
  },
  {
    name: "`remove` deletes an integration, cancels its waiting deliveries and keeps its settled ones",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const deliveries = yield* DeliveryStore
      const integration = yield* createIntegration({ scope: building(7) })
      const other = yield* createIntegration({ scope: building(7) })
      const ids = yield* enqueue(...records(1, 4, integration))
      yield* enqueue(...records(5, 5, other))
      const delivered = yield* claimOne(start, { limits: nothingOf(other) })
      yield* settle(start, settlement(delivered))
      const retrying = yield* claimOne(start, { limits: nothingOf(other) })
      yield* settle(start, settlement(retrying, { state: "retrying", next_attempt_at: start + 100 }))
      yield* claimOne(start, { limits: nothingOf(other) })
      const changed = { ...integration, version: integration.version + 1 }
      yield* expectEqual("another version", yield* store.remove(changed), false)
      yield* expectEqual("still there", yield* store.find(integration.id), integration)
      const { created_by, id, scope, version } = integration
      const { client_id } = created_by
      yield* expectEqual("located", yield* store.findRef(id), { id, scope, created_by: { client_id }, version })
      yield* expectEqual("answer", yield* store.remove(integration), true)
      yield* expectEqual("located no more", yield* store.findRef(id), null)
      yield* expectEqual("found", yield* store.find(integration.id), null)
      const listed = yield* store.list(building(7), { offset: 0, limit: 10 })
      yield* expectEqual("listed", listed, { items: [other], total: 1 })
      const stands = Effect.forEach(ids, (id) => Effect.map(findDelivery(id), ({ reason, state }) => [state, reason]))
      const cancelled = ["cancelled", "integration_deleted"]
      yield* expectEqual("deliveries", yield* stands, [["delivered", null], cancelled, cancelled, cancelled])
      yield* expectEqual("states", (yield* deliveries.summary(start)).states.pending, 1)
      yield* expectEqual(
        "claimed",
        (yield* claim(start + 1_000_000)).map(({ integration: { id } }) => id),
        [other.id]
      )
      yield* expectEqual("removed again", yield* store.remove(integration), false)
    })
  },
  {
    name: "`findByScopes` returns all integrations of the given buildings and tenants, including disabled ones, each once",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const one = yield* createIntegration({ scope: building(1) })
      const two = yield* createIntegration({ scope: building(2), status: "disabled", disabled_reason: "manual" })
      const ofTenant = yield* createIntegration({ scope: tenant(1) })
      const another = yield* createIntegration({ scope: building(1) })
      yield* createIntegration({ scope: building(3) })
      yield* createIntegration({ scope: tenant(2) })
      const buildings = [1, 2, 1].map((id) => BuildingId.make(id))
      const tenants = [1, 1, 99].map((id) => TenantId.make(id))
      yield* expectEqual("both", yield* store.findByScopes({ buildings, tenants }), [one, two, ofTenant, another])
      yield* expectEqual("tenants alone", yield* store.findByScopes({ buildings: [], tenants }), [ofTenant])
      yield* expectEqual("nothing asked", yield* store.findByScopes({ buildings: [], tenants: [] }), [])
      const later = yield* createIntegration({ scope: building(1) })
      const enabled = { ...two, status: "enabled", disabled_reason: null, version: two.version + 1 } as const
      yield* store.update(enabled, two.version)
      yield* store.remove(another)
      const now = yield* store.findByScopes({ buildings, tenants })
      yield* expectEqual("after changes", now, [one, enabled, ofTenant, later])
    })
  },
  {
    name: "`findByScopes` accepts a thousand scopes",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const created = yield* Effect.forEach([1, 500, 1_000], (id) => createIntegration({ scope: tenant(id) }))
      const ids = Array.from({ length: 1_000 }, (_, index) => index + 1)
      const found = yield* store.findByScopes({
        buildings: ids.map((id) => BuildingId.make(id)),
        tenants: ids.map((id) => TenantId.make(id))
      })
      yield* expectEqual("found", found, created)
    })
  },
  {
    name: "`listAll` returns integrations page by page, and can select them by status or health",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const one = yield* createIntegration()
      const off = yield* createIntegration({ scope: tenant(4), status: "disabled", disabled_reason: "gone" })
      const two = yield* createIntegration({ scope: building(9) })
      const of = (...integrations: ReadonlyArray<Integration>) =>
        integrations.map((integration) => ({ integration, failing: null }))
      yield* expectEqual("all", yield* store.listAll({ after: 0, limit: 10 }), of(one, off, two))
      yield* expectEqual("a page", yield* store.listAll({ after: one.id, limit: 1 }), of(off))
      yield* expectEqual("disabled", yield* store.listAll({ status: "disabled", after: 0, limit: 10 }), of(off))
      yield* expectEqual("enabled", yield* store.listAll({ status: "enabled", after: one.id, limit: 10 }), of(two))
      const byHand = yield* createIntegration({ status: "disabled", disabled_reason: "manual" })
      yield* expectEqual("by hand", yield* store.listAll({ status: "disabled", after: off.id, limit: 10 }), of(byHand))
      yield* expectEqual("unhealthy", yield* store.listAll({ status: "unhealthy", after: 0, limit: 10 }), of(off))
      yield* expectEqual("one", yield* store.findWithHealth(off.id), { integration: off, failing: null })
      yield* expectEqual("unknown", yield* store.findWithHealth(IntegrationId.make(99)), null)
    })
  },
  {
    name: "`listAll` can search for a client, a host and a part of the name, and combines the criteria",
    run: Effect.gen(function* () {
      const store = yield* IntegrationStore
      const by = (client: string) => ({ user_id: UserId.make("user"), client_id: ClientId.make(client) })
      const to = (url: string) => ({ url, method: "post" }) as const
      const one = yield* createIntegration({ name: "M\u00dcLLER Concierge", created_by: by("c1") })
      const two = yield* createIntegration({
        name: "m\u00fcller lobby",
        created_by: by("C1"),
        configuration: to("https://HOOKS.example:8443/a"),
        status: "disabled",
        disabled_reason: "gone"
      })
      const three = yield* createIntegration({ created_by: by("c1"), configuration: to("http://hooks.example/b") })
      // More rows than a store reads at a time.
      yield* Effect.replicateEffect(createIntegration({ scope: tenant(1), created_by: by("c2") }), 1_100, {
        concurrency: 50
      })
      const last = yield* createIntegration({
        name: "Last 100%_",
        configuration: to("https://other.example/hooks.example")
      })
      const found = (filter: IntegrationFilter, limit = 10) =>
        Effect.map(store.listAll({ ...filter, after: 0, limit }), (list) =>
          list.map((each) => ("integration" in each ? each.integration.id : 0))
        )
      yield* expectEqual("of a client", yield* found({ client_id: "c1" }), [one.id, three.id])
      yield* expectEqual("with a host", yield* found({ host: "Hooks.Example" }), [two.id, three.id])
      yield* expectEqual("with a port", yield* found({ host: "hooks.example:8443" }), [two.id])
      yield* expectEqual("with the default port", yield* found({ host: "hooks.example:80" }), [three.id])
      yield* expectEqual("with a name", yield* found({ name: "m\u00fcller" }), [one.id, two.id])
      yield* expectEqual("first only", yield* found({ name: "m\u00fcller" }, 1), [one.id])
      yield* expectEqual("literally", yield* found({ name: "0%_" }), [last.id])
      yield* expectEqual("with a status too", yield* found({ name: "m\u00fcller", status: "unhealthy" }), [two.id])
      yield* expectEqual("with all", yield* found({ client_id: "c1", host: "hooks.example", name: "m" }), [])
      yield* expectEqual("after an id", yield* store.listAll({ client_id: "c1", after: one.id, limit: 10 }), [
        { integration: three, failing: null }
      ])
    })
  }
]
