/**
 * What a filter selects.
 */
import type { DeliveryId } from "../domain/Ids.ts"
import type { DeliveryFilter } from "../ports/DeliveryStore.ts"
import type { DeliveryTable, StoredDelivery } from "./DeliveryTable.ts"

/** The deliveries that a filter selects, by the narrowest index. */
export const select = (deliveries: DeliveryTable, filter: DeliveryFilter): ReadonlyArray<StoredDelivery> => {
  const after = filter.after ?? 0
  const found: Array<StoredDelivery> = []
  for (const delivery of source(deliveries, filter, after)) {
    if (found.length === filter.limit) break
    if (filter.state !== undefined && delivery.standing.state !== filter.state) continue
    if (filter.integration_id !== undefined && delivery.integration_id !== filter.integration_id) continue
    found.push(delivery)
  }
  return found
}

const source = (deliveries: DeliveryTable, filter: DeliveryFilter, after: DeliveryId | 0): Iterable<StoredDelivery> => {
  if (filter.event_id !== undefined)
    return (deliveries.events.get(filter.event_id)?.deliveries ?? []).filter(({ id }) => id > after)
  return filter.integration_id === undefined
    ? deliveries.since(after)
    : sliceAfter(deliveries.byIntegration.get(filter.integration_id) ?? [], after)
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
