/**
 * What a filter selects.
 */
import type { DeliveryId } from "../domain/Ids.ts"
import type { DeliveryFilter } from "../ports/DeliveryStore.ts"
import type { DeliveryTable, StoredDelivery } from "./DeliveryTable.ts"

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
export const sliceAfter = (
  list: ReadonlyArray<StoredDelivery>,
  after: DeliveryId | 0
): ReadonlyArray<StoredDelivery> => {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle]?.id ?? 0) <= after) low = middle + 1
    else high = middle
  }
  return list.slice(low)
}
