/**
 * Integrations in memory.
 */
import { Effect, Layer, Struct } from "effect"
import { IntegrationId } from "../model/Ids.ts"
import type { Integration, Scope, SubscribedIntegration } from "../model/Integration.ts"
import { isSubscribed } from "../model/Integration.ts"
import { matchesSearch } from "../model/IntegrationSearch.ts"
import { IdempotencyConflict } from "../ports/IdempotencyStore.ts"
import type { IntegrationWithHealth, StatusFilter, SubscriptionPlace } from "../ports/IntegrationStore.ts"
import { IntegrationStore, LimitReached } from "../ports/IntegrationStore.ts"
import { reasonOfDisabled } from "../delivery/Transitions.ts"
import { MemoryState, takenKey } from "./MemoryState.ts"

const make = Effect.gen(function* () {
  const state = yield* MemoryState
  const { deliveries, integrations } = state
  /** Ids by scope, in the order of creation. */
  const byScope = new Map<string, Set<IntegrationId>>()
  let lastId = 0

  const idsOf = (scope: Scope): Set<IntegrationId> => byScope.get(keyOf(scope)) ?? new Set()

  const ofScope = (scope: Scope): ReadonlyArray<Integration> => {
    const found: Array<Integration> = []
    for (const id of byScope.get(keyOf(scope)) ?? []) {
      const integration = integrations.get(id)
      if (integration !== undefined) found.push(integration)
    }
    return found
  }

  const surveyed = (integration: Integration): IntegrationWithHealth => ({
    integration,
    failing: state.failing.get(integration.id) ?? null
  })

  return IntegrationStore.of({
    create: (fields, key, limit = Number.POSITIVE_INFINITY) =>
      Effect.gen(function* () {
        const taken = key === undefined ? undefined : takenKey(state, [key])
        if (taken !== undefined) return yield* new IdempotencyConflict({ key: taken })
        const ofKind = ofScope(fields.scope).filter((one) => isSubscribed(one) === (fields.subscription !== undefined))
        if (ofKind.length >= limit) return yield* new LimitReached({ scope: fields.scope, limit })
        const integration = { id: IntegrationId.make(++lastId), ...fields }
        integrations.set(integration.id, integration)
        byScope.set(keyOf(fields.scope), idsOf(fields.scope).add(integration.id))
        if (key !== undefined) state.keys.set(key.key, { ...key, answer: String(integration.id) })
        return integration
      }),

    find: (id) => Effect.succeed(integrations.get(id) ?? null),

    findRef: (id) => {
      const integration = integrations.get(id)
      if (integration === undefined) return Effect.succeed(null)
      const { client_id } = integration.created_by
      return Effect.succeed({ ...Struct.pick(integration, ["id", "scope", "version"]), created_by: { client_id } })
    },

    list: (scope, { client_id, limit, offset }) =>
      Effect.sync(() => {
        const items = ofScope(scope).filter(
          ({ created_by }) => client_id === undefined || created_by.client_id === client_id
        )
        return { items: items.slice(offset, offset + limit), total: items.length }
      }),

    update: (integration, expectedVersion) =>
      Effect.sync(() => {
        if (integrations.get(integration.id)?.version !== expectedVersion) return false
        integrations.set(integration.id, integration)
        if (integration.status === "disabled") deliveries.cancelActive(integration.id, reasonOfDisabled(integration))
        state.failing.delete(integration.id)
        return true
      }),

    remove: ({ id, version }) =>
      Effect.sync(() => {
        const integration = integrations.get(id)
        if (integration?.version !== version) return false
        integrations.delete(id)
        state.failing.delete(id)
        const siblings = idsOf(integration.scope)
        siblings.delete(id)
        if (siblings.size === 0) byScope.delete(keyOf(integration.scope))
        deliveries.cancelActive(id, "integration_deleted")
        return true
      }),

    findByScopes: ({ buildings, tenants }) =>
      Effect.sync(() => {
        const found = new Set<Integration>()
        for (const id of buildings) for (const integration of ofScope({ type: "building", id })) found.add(integration)
        for (const id of tenants) for (const integration of ofScope({ type: "tenant", id })) found.add(integration)
        const ordered = Array.from(found)
        // Usually only one scope has integrations, and then they are in order.
        const isInOrder = ordered.every(({ id }, at) => id >= (ordered[at - 1]?.id ?? 0))
        return isInOrder ? ordered : ordered.toSorted((a, b) => a.id - b.id)
      }),

    listAll: ({ after, limit, status, ...search }) =>
      Effect.sync(() =>
        [...integrations.values()]
          .filter(
            ({ configuration: { url }, created_by: { client_id }, id, name }) =>
              id > after && matchesSearch({ client_id, name, url }, search)
          )
          .map(surveyed)
          .filter(isOf(status))
          .toSorted((a, b) => a.integration.id - b.integration.id)
          .slice(0, limit)
      ),

    subscriptions: (after, limit) =>
      Effect.sync(() => {
        const items = [...integrations.values()]
          .filter(isSubscribed)
          .filter((one) => comparePlaces(placeOf(one), after) > 0)
          .toSorted((a, b) => comparePlaces(placeOf(a), placeOf(b)))
          .slice(0, limit)
        const last = items.length < limit ? undefined : items.at(-1)
        return { items, next: last === undefined ? null : placeOf(last) }
      }),

    findWithHealth: (id) =>
      Effect.sync(() => {
        const integration = integrations.get(id)
        return integration === undefined ? null : surveyed(integration)
      })
  })
})

/** Requires the state shared by the memory stores. */
export const layer: Layer.Layer<IntegrationStore, never, MemoryState> = Layer.effect(IntegrationStore, make)

const isOf =
  (status: StatusFilter | undefined) =>
  ({ failing, integration }: IntegrationWithHealth): boolean =>
    status === "unhealthy"
      ? failing !== null || (integration.disabled_reason ?? "manual") !== "manual"
      : status === undefined || integration.status === status

const placeOf = ({ id, subscription: { grant_id } }: SubscribedIntegration): SubscriptionPlace => ({ grant_id, id })

const comparePlaces = (a: SubscriptionPlace, b: SubscriptionPlace): number =>
  a.grant_id === b.grant_id ? a.id - b.id : a.grant_id < b.grant_id ? -1 : 1

const keyOf = ({ id, type }: Scope): string => `${type}:${id}`
