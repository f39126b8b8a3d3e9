/**
 * Matches events with integrations (interface document, section 4.2, and section 6, rule 1). An event goes to an
 * integration of its building or tenants if the integration has a binding for the event's resource type and action.
 * Each integration gets an event at most once. If an integration's bindings can't be read (null), only the building or
 * tenant is compared, so that no event is lost.
 */
import type { NewEvent } from "./Event.ts"
import type { Binding, Integration, Scope } from "./Integration.ts"

type EventScope = Pick<NewEvent, "resource_type" | "action" | "building_id" | "tenant_ids">

/** Whether an event concerns the building or tenant of a scope. */
export const scopeSees = (scope: Scope, event: EventScope): boolean =>
  (scope.type === "building" && scope.id === event.building_id) ||
  (scope.type === "tenant" && event.tenant_ids.includes(scope.id))

/** Whether a binding includes the event's resource type and action. */
export const bindingCovers = (binding: Binding, event: EventScope): boolean =>
  binding.resource_type === event.resource_type && binding.actions.includes(event.action)

type Matchable = Pick<Integration, "scope"> & { readonly bindings: Integration["bindings"] | null }

/** Whether an event matches an integration, enabled or not. */
export const matches = ({ bindings, scope }: Matchable, event: EventScope): boolean =>
  scopeSees(scope, event) && (bindings === null || bindings.some((binding) => bindingCovers(binding, event)))

/** Returns the integrations that an event matches. */
export const match = <I extends Matchable>(event: EventScope, integrations: ReadonlyArray<I>): ReadonlyArray<I> =>
  integrations.filter((integration) => matches(integration, event))

/** Like `match`, but indexes the integrations by scope, for many events. */
export const makeMatcher = <I extends Matchable>(
  integrations: ReadonlyArray<I>
): ((event: EventScope) => ReadonlyArray<I>) => {
  const ofBuilding = new Map<number, Array<I>>()
  const ofTenant = new Map<number, Array<I>>()
  for (const integration of integrations) {
    const { id, type } = integration.scope
    const byId = type === "building" ? ofBuilding : ofTenant
    const others = byId.get(id)
    if (others === undefined) byId.set(id, [integration])
    else others.push(integration)
  }
  return (event) => {
    const near = match(event, ofBuilding.get(event.building_id) ?? [])
    if (ofTenant.size === 0) return near
    return near.concat(...Array.from(new Set(event.tenant_ids), (id) => match(event, ofTenant.get(id) ?? [])))
  }
}
