/** The integrations of a run, and which of them get an event. */
import type { Event, IntegrationId, NewIntegration, ResourceTypeTable, Scope } from "@doorhook/core"
import { bindAll, BuildingId, ClientId, TenantId, UserId } from "@doorhook/core"
import { Redacted } from "effect"
import { child, Rng } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import type { Scenario } from "../scenario/Scenario.ts"

/** An integration that exists at the start of a run. */
export interface PlannedIntegration {
  /** Number of the integration in the report, from 1. */
  readonly place: number
  readonly name: string
  readonly scope: Scope
  /** Time zone of the building and of the receiver. */
  readonly zone: string
}

/** Data of a building that a run needs: tenants and time zone. */
export interface Premises {
  readonly id: BuildingId
  readonly zone: string
  /** Returns the name and the tenants. A large scenario makes the building for it. */
  readonly details: () => { readonly name: string; readonly tenants: ReadonlyArray<TenantId> }
}

export const premisesOf = ({ sites }: Scenario): ReadonlyArray<Premises> =>
  sites.map(({ id, time_zone, traffic }) => ({
    id: BuildingId.make(id),
    zone: time_zone,
    details: () => {
      const { name, units } = traffic().building
      return { name, tenants: [...new Set(units.flatMap(({ tenant_ids }) => tenant_ids))] }
    }
  }))

/** Plans `ofBuilding` integrations for each building, and one for each of `tenantsPerBuilding` tenants. */
export const plannedIntegrations = (
  premises: ReadonlyArray<Premises>,
  tenantsPerBuilding: number,
  ofBuilding = 1
): ReadonlyArray<PlannedIntegration> => {
  const all = premises.flatMap(({ details, id, zone }) => {
    const { name, tenants } = details()
    // Spreads the chosen tenants over the building, so that not all are neighbours.
    const step = Math.max(1, Math.floor(tenants.length / Math.max(1, tenantsPerBuilding)))
    const chosen = tenants.filter((_, at) => at % step === 0).slice(0, tenantsPerBuilding)
    const own = Array.from({ length: ofBuilding }, (_, nth): Omit<PlannedIntegration, "place"> => ({
      name: nth === 0 ? name : `${name}, integration ${nth + 1}`,
      zone,
      scope: { type: "building", id }
    }))
    const theirs = chosen.map((tenant): Omit<PlannedIntegration, "place"> => ({
      name: `${name}, tenant ${tenant}`,
      zone,
      scope: { type: "tenant", id: tenant }
    }))
    return [...own, ...theirs]
  })
  return all.map((integration, at) => ({ ...integration, place: at + 1 }))
}

/** Returns a signing secret drawn from the seed, in Standard Webhooks format. */
const secretOf = (seed: Substream): string => {
  const rng = new Rng(seed)
  return `whsec_${btoa(String.fromCharCode(...Array.from({ length: 24 }, () => rng.below(256))))}`
}

/** Returns a new integration for the store. */
export const integrationOf = (
  scope: Scope,
  url: string,
  seed: Substream,
  now: number,
  types: ResourceTypeTable,
  secret: Redacted.Redacted<string> | null = null
): NewIntegration => ({
  scope,
  integrator: "webhook",
  configuration: { url, method: "post" },
  bindings: bindAll(types),
  name: null,
  description: null,
  detail: "full",
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

/** Active integrations by scope. */
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

  /**
   * Returns the integrations that should get an event (interface document, section 4.2). All integrations of a run
   * bind to all resource types.
   */
  matching({ building_id, tenant_ids }: Pick<Event, "building_id" | "tenant_ids">): ReadonlySet<IntegrationId> {
    const found = new Set(this.#buildings.get(building_id))
    for (const tenant of tenant_ids) for (const id of this.#tenants.get(tenant) ?? []) found.add(id)
    return found
  }
}
