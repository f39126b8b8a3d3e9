/**
 * Integrations in memory.
 */
import { Effect, Layer } from "effect"
import { IntegrationId } from "../domain/Ids.ts"
import type { Integration, Scope } from "../domain/Integration.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { MemoryState, replaceIntegration } from "./MemoryState.ts"

const make = Effect.gen(function* () {
  const state = yield* MemoryState
  const { deliveries, integrations } = state
  /** Ids of each scope, in the order of creation. */
  const byScope = new Map<string, Set<IntegrationId>>()
  let lastId = 0

  const idsOf = (scope: Scope): Set<IntegrationId> => byScope.get(keyOf(scope)) ?? new Set()

  const ofScope = (scope: Scope): ReadonlyArray<Integration> =>
    [...idsOf(scope)].flatMap((id) => integrations.get(id) ?? [])

  return IntegrationStore.of({
    create: (fields) =>
      Effect.sync(() => {
        const integration = { id: IntegrationId.make(++lastId), ...fields }
        integrations.set(integration.id, integration)
        byScope.set(keyOf(fields.scope), idsOf(fields.scope).add(integration.id))
        return integration
      }),

    find: (id) => Effect.sync(() => integrations.get(id) ?? null),

    list: (scope, { limit, offset }) =>
      Effect.sync(() => {
        const items = ofScope(scope)
        return { items: items.slice(offset, offset + limit), total: items.length }
      }),

    update: (integration, expectedVersion) =>
      Effect.sync(() => {
        if (integrations.get(integration.id)?.version !== expectedVersion) return false
        replaceIntegration(state, integration)
        return true
      }),

    remove: (id) =>
      Effect.sync(() => {
        const integration = integrations.get(id)
        if (integration === undefined) return false
        integrations.delete(id)
        const siblings = idsOf(integration.scope)
        siblings.delete(id)
        if (siblings.size === 0) byScope.delete(keyOf(integration.scope))
        deliveries.cancelActive(id, "integration_deleted")
        return true
      }),

    ofScopes: ({ buildings, tenants }) =>
      Effect.sync(() => {
        const scopes: ReadonlyArray<Scope> = [
          ...new Set(buildings).values().map((id) => ({ type: "building" as const, id })),
          ...new Set(tenants).values().map((id) => ({ type: "tenant" as const, id }))
        ]
        return scopes.flatMap(ofScope).toSorted((a, b) => a.id - b.id)
      })
  })
})

/** Needs the state that it shares with the other memory stores. */
export const layer: Layer.Layer<IntegrationStore, never, MemoryState> = Layer.effect(IntegrationStore, make)

const keyOf = ({ id, type }: Scope): string => `${type}:${id}`
