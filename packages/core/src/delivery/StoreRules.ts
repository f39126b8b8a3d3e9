/**
 * Decisions that all stores share and that concern no single delivery: which old events a purge deletes, which
 * redeliveries are refused, and which feeds contain an event.
 */
import type { Event } from "../model/Event.ts"
import type { DeliveryId } from "../model/Ids.ts"
import type { Scope } from "../model/Integration.ts"
import type { PurgeRequest, RedeliverRequest, RedeliverResult } from "../ports/DeliveryStore.ts"

/** An event that a purge examines. */
interface StoredEvent {
  /** Sequence number in storage order. */
  readonly seq: number
  readonly created_at: number
}

/** The old events of a page, and where the purge continues (`Purged.next`). */
export interface PurgePage<E> {
  readonly old: ReadonlyArray<E>
  readonly next: number | null
}

/**
 * Selects the old events of a page in storage order. `found` is one longer than the limit if further events follow. Does
 * not stop at the first event that is too new, because a wrong clock may have dated it.
 */
export const purgePage = <E extends StoredEvent>(
  found: ReadonlyArray<E>,
  { before, limit, now }: Pick<PurgeRequest, "before" | "limit" | "now">
): PurgePage<E> => {
  const examined = found.slice(0, limit)
  const old = examined.filter(({ created_at }) => created_at < before)
  const isDone = old.length === 0 && examined.some(({ created_at }) => created_at <= now)
  return { old, next: found.length > limit && !isDone ? (examined.at(-1)?.seq ?? null) : null }
}

export type Refusal = Extract<RedeliverResult, { readonly _tag: "Refused" }>["why"]

/** Returns why deliveries of an integration can't be sent again now; null if they can. */
export const refusalOf = (
  type: RedeliverRequest["type"],
  integration: { readonly status: string; readonly disabled_reason?: string | null } | undefined
): Refusal | null => {
  if (integration === undefined) return type === "delivery" ? "integration_deleted" : "not_found"
  const { disabled_reason, status } = integration
  if (type === "probe") return status !== "disabled" || disabled_reason === "manual" ? "not_disabled" : null
  return status === "disabled" ? "integration_disabled" : null
}

/** Whether a recovery includes an event. `resource_type` is null for an event that can't be read. */
export const isRecovered = (
  { since, since_of = {} }: Pick<Extract<RedeliverRequest, { readonly type: "integration" }>, "since" | "since_of">,
  { created_at, resource_type }: { readonly created_at: number; readonly resource_type: string | null }
): boolean => created_at >= Math.max(since, resource_type === null ? since : (since_of[resource_type] ?? since))

export const refused = (why: Refusal): RedeliverResult => ({ _tag: "Refused", why })

/** `delivery_id`: null for all deliveries of an integration. */
export const redelivered = (count: number, delivery_id: DeliveryId | null): RedeliverResult => ({
  _tag: "Redelivered",
  count,
  delivery_id
})

/** Returns the buildings and tenants that may see at least one of some events, each once. */
export const scopesOf = (events: Iterable<Pick<Event, "building_id" | "tenant_ids">>): ReadonlyArray<Scope> => {
  const buildings = new Set<Event["building_id"]>()
  const tenants = new Set<Event["tenant_ids"][number]>()
  for (const { building_id, tenant_ids } of events) {
    buildings.add(building_id)
    for (const id of tenant_ids) tenants.add(id)
  }
  return [
    ...Array.from(buildings, (id): Scope => ({ type: "building", id })),
    ...Array.from(tenants, (id): Scope => ({ type: "tenant", id }))
  ]
}
