/**
 * Which integrations get an event (document section 4.2 and section 6, rule 1): those of its building and those of its
 * tenants, if one of their bindings names its resource type and action. An integration is matched once, however many of
 * its bindings fit. One whose bindings can't be read (null) is matched by its building or tenant alone: which events it is
 * to get is not known, and none may be lost.
 */
import type { NewEvent } from "../model/Event.ts"
import type { Binding, Integration, Scope } from "../model/Integration.ts"

type EventScope = Pick<NewEvent, "resource_type" | "action" | "building_id" | "tenant_ids">

/** Whether a scope may see an event. */
export const scopeSees = (scope: Scope, event: EventScope): boolean =>
  (scope.type === "building" && scope.id === event.building_id) ||
  (scope.type === "tenant" && event.tenant_ids.includes(scope.id))

/** Whether a binding asks for an event. */
export const bindingCovers = (binding: Binding, event: EventScope): boolean =>
  binding.resource_type === event.resource_type && binding.actions.includes(event.action)

type Matchable = Pick<Integration, "scope"> & { readonly bindings: Integration["bindings"] | null }

/** Whether an integration gets an event, be it enabled or not. */
export const matches = ({ bindings, scope }: Matchable, event: EventScope): boolean =>
  scopeSees(scope, event) && (bindings === null || bindings.some((binding) => bindingCovers(binding, event)))

/** The integrations that get an event. */
export const match = <I extends Matchable>(event: EventScope, integrations: ReadonlyArray<I>): ReadonlyArray<I> =>
  integrations.filter((integration) => matches(integration, event))

/** `match` for many events over the same integrations: of those, it looks only at the ones of the event's own scopes. */
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
