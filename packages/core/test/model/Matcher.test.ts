import { assert, describe, it } from "@effect/vitest"
import type { Scope } from "@doorhook/core"
import { BuildingId, Matcher, TenantId } from "@doorhook/core"
import fc from "fast-check"

const ids = fc.integer({ min: 1, max: 4 })
const types = fc.constantFrom("call" as const, "access_log" as const)
const scopes = fc.oneof(
  ids.map((id): Scope => ({ type: "building", id: BuildingId.make(id) })),
  ids.map((id): Scope => ({ type: "tenant", id: TenantId.make(id) }))
)
const bindings = fc.array(
  fc.record({ resource_type: types, actions: fc.constantFrom<ReadonlyArray<"create">>(["create"], []) }),
  { maxLength: 4 }
)
const integrations = fc.array(fc.record({ scope: scopes, bindings }), { maxLength: 8 })
const events = fc.record({
  resource_type: types,
  action: fc.constant("create" as const),
  building_id: ids.map((id) => BuildingId.make(id)),
  tenant_ids: fc.array(
    ids.map((id) => TenantId.make(id)),
    { maxLength: 3 }
  )
})

describe("Matching", () => {
  it("never shows an event to the integration of another building or tenant", () => {
    fc.assert(
      fc.property(events, integrations, (event, all) => {
        for (const { scope } of Matcher.match(event, all)) {
          if (scope.type === "building") assert.strictEqual(scope.id, event.building_id)
          else assert.include(event.tenant_ids, scope.id)
        }
      })
    )
  })

  it("matches an integration once, if and only if a binding names the event's type and action", () => {
    fc.assert(
      fc.property(events, integrations, (event, all) => {
        const matched = Matcher.match(event, all)
        assert.strictEqual(new Set(matched).size, matched.length)
        for (const integration of all) {
          const asked = integration.bindings.some(
            (binding) => binding.resource_type === event.resource_type && binding.actions.includes("create")
          )
          const sees = Matcher.scopeSees(integration.scope, event)
          assert.strictEqual(matched.includes(integration), asked && sees)
        }
      })
    )
  })

  it("matches many events like each single one", () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 4 }), integrations, (many, all) => {
        const matchOne = Matcher.makeMatcher(all)
        for (const event of many) {
          const matched = matchOne(event)
          assert.strictEqual(new Set(matched).size, matched.length)
          assert.sameMembers([...matched], [...Matcher.match(event, all)])
        }
      })
    )
  })

  it("matches a building with everything in it, and a tenant only with events that involve the tenant", () => {
    const event = {
      resource_type: "access_log",
      action: "create",
      building_id: BuildingId.make(1),
      tenant_ids: [TenantId.make(7)]
    } as const
    const all = (["building 1", "building 2", "tenant 7", "tenant 8"] as const).map((name) => {
      const [type, id] = name.split(" ")
      const scope: Scope =
        type === "building"
          ? { type: "building", id: BuildingId.make(Number(id)) }
          : { type: "tenant", id: TenantId.make(Number(id)) }
      return { name, scope, bindings: [{ resource_type: "access_log", actions: ["create"] }] as const }
    })
    assert.deepStrictEqual(
      Matcher.match(event, all).map(({ name }) => name),
      ["building 1", "tenant 7"]
    )
  })
})
