/**
 * The integrations of a run: who gets what, and by which URL.
 */
import type { Event, IntegrationId, NewIntegration, Scope } from "@doorhook/core"
import { bindAll, builtInTable, BuildingId, ClientId, TenantId, UserId } from "@doorhook/core"
import { Redacted } from "effect"
import { child, Rng } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import type { Scenario } from "../scenario/Scenario.ts"

/** An integration that a run begins with. */
export interface PlannedIntegration {
  /** From 1, in the order of the report. */
  readonly place: number
  readonly name: string
  readonly scope: Scope
  /** The time zone of its building: the clock of its receiver. */
  readonly zone: string
}

/** So many for each building, and so many of its tenants have one as well. */
export const plannedIntegrations = (
  scenario: Scenario,
  tenantsPerBuilding: number,
  ofBuilding = 1
): ReadonlyArray<PlannedIntegration> => {
  const all: Array<Omit<PlannedIntegration, "place">> = []
  for (const { building } of scenario.buildings) {
    const zone = building.time_zone
    for (let nth = 1; nth <= ofBuilding; nth++) {
      const name = nth === 1 ? building.name : `${building.name}, integration ${nth}`
      all.push({ name, zone, scope: { type: "building", id: building.id } })
    }
    const tenants = [...new Set(building.units.flatMap(({ tenant_ids }) => tenant_ids))]
    // Spread over the house, so that not all are neighbours.
    const step = Math.max(1, Math.floor(tenants.length / Math.max(1, tenantsPerBuilding)))
    for (let nth = 0; nth < Math.min(tenantsPerBuilding, tenants.length); nth++) {
      const id = tenants[nth * step]
      if (id !== undefined) all.push({ name: `${building.name}, tenant ${id}`, zone, scope: { type: "tenant", id } })
    }
  }
  return all.map((integration, at) => ({ ...integration, place: at + 1 }))
}

/** A signing secret drawn from the seed: of Standard Webhooks' form, and nobody's. */
const secretOf = (seed: Substream): string => {
  const rng = new Rng(seed)
  return `whsec_${btoa(String.fromCharCode(...Array.from({ length: 24 }, () => rng.below(256))))}`
}

/** What the store is told of an integration. */
export const integrationOf = (
  scope: Scope,
  url: string,
  seed: Substream,
  now: number,
  secret: Redacted.Redacted<string> | null = null
): NewIntegration => ({
  scope,
  integrator: "webhook",
  configuration: { url, method: "post" },
  bindings: bindAll(builtInTable),
  status: "enabled",
  disabled_reason: null,
  created_by: { user_id: UserId.make("simulator"), client_id: ClientId.make("simulator") },
  signing_secret: secret ?? Redacted.make(secretOf(child(seed, url))),
  previous_secrets: [],
  overrides: {},
  version: 1,
  created_at: now,
  updated_at: now
})

/** Which integrations there are now, by scope. */
export class Matcher {
  readonly #buildings = new Map<BuildingId, Set<IntegrationId>>()
  readonly #tenants = new Map<TenantId, Set<IntegrationId>>()

  add({ id, type }: Scope, integration: IntegrationId): void {
    const known = type === "building" ? this.#buildings.get(BuildingId.make(id)) : this.#tenants.get(TenantId.make(id))
    if (known !== undefined) known.add(integration)
    else if (type === "building") this.#buildings.set(BuildingId.make(id), new Set([integration]))
    else this.#tenants.set(TenantId.make(id), new Set([integration]))
  }

  remove({ id, type }: Scope, integration: IntegrationId): void {
    if (type === "building") this.#buildings.get(BuildingId.make(id))?.delete(integration)
    else this.#tenants.get(TenantId.make(id))?.delete(integration)
  }

  /** Whoever should get an event (document section 4.2). All integrations here bind to everything. */
  matching({ building_id, tenant_ids }: Pick<Event, "building_id" | "tenant_ids">): ReadonlySet<IntegrationId> {
    const found = new Set(this.#buildings.get(building_id))
    for (const tenant of tenant_ids) for (const id of this.#tenants.get(tenant) ?? []) found.add(id)
    return found
  }
}
