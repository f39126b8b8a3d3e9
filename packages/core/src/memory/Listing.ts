/**
 * What a filter selects.
 */
import type { DeliveryId } from "../domain/Ids.ts"
import type { Event } from "../domain/Event.ts"
import type { DeliveryFilter, EventFilter, EventPage } from "../ports/DeliveryStore.ts"
import type { DeliveryTable, StoredDelivery } from "./DeliveryTable.ts"
import { countWhile } from "./DeliveryTable.ts"

/** The deliveries that a filter selects, by the narrowest index. */
export const select = (deliveries: DeliveryTable, filter: DeliveryFilter): ReadonlyArray<StoredDelivery> => {
  const found: Array<StoredDelivery> = []
  for (const delivery of source(deliveries, filter)) {
    if (found.length === filter.limit) break
    if (filter.states?.includes(delivery.standing.state) === false) continue
    if (filter.integration_id !== undefined && delivery.integration_id !== filter.integration_id) continue
    found.push(delivery)
  }
  return found
}

const source = (
  deliveries: DeliveryTable,
  { after, event_id, integration_id, order }: DeliveryFilter
): Iterable<StoredDelivery> => {
  const narrow =
    event_id !== undefined
      ? deliveries.events.get(event_id)?.deliveries
      : integration_id !== undefined
        ? deliveries.byIntegration.get(integration_id)
        : null
  if (order === "newest") {
    if (narrow === null) return deliveries.until(after)
    const older = after === undefined ? narrow : narrow?.filter(({ id }) => id < after)
    return (older ?? []).toReversed()
  }
  return narrow === null ? deliveries.since(after ?? 0) : sliceAfter(narrow ?? [], after ?? 0)
}

/** The deliveries after one, of a list by id. */
export const sliceAfter = (list: ReadonlyArray<StoredDelivery>, after: DeliveryId | 0): ReadonlyArray<StoredDelivery> =>
  list.slice(countWhile(list, ({ id }) => id <= after))

/** A page of a list that is in the order of publication times. */
export const pageOfEvents = (
  list: ReadonlyArray<Event>,
  { countUpTo, limit, offset, since, until }: EventFilter
): EventPage => {
  const from = since === undefined ? 0 : countWhile(list, ({ created_at }) => created_at < since)
  const to = until === undefined ? list.length : countWhile(list, ({ created_at }) => created_at < until)
  const count = Math.max(0, to - from)
  const end = Math.max(from, to - offset)
  return {
    items: list.slice(Math.max(from, end - limit), end).toReversed(),
    total: Math.min(count, countUpTo),
    isCapped: count > countUpTo
  }
}
