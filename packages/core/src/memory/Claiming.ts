/**
 * What a claim takes.
 */
import { lanes } from "../domain/Delivery.ts"
import type { IntegrationId } from "../domain/Ids.ts"
import type { ClaimRequest } from "../ports/DeliveryStore.ts"
import { claimed, isDue } from "../rules/Standing.ts"
import type { DeliveryTable, StoredDelivery } from "./DeliveryTable.ts"

/**
 * Claims lane by lane, and within a lane in rounds, one delivery of each integration in a round, the earliest due first.
 * Only the heads of queues are looked at.
 */
export const takeDue = (deliveries: DeliveryTable, request: ClaimRequest): ReadonlyArray<StoredDelivery> => {
  const { lease, limit, limitPerIntegration, limits, now } = request
  const taken = new Set<StoredDelivery>()
  const places = new Map(limits)
  const placesOf = (id: IntegrationId): number => places.get(id) ?? limitPerIntegration
  for (const lane of lanes) {
    while (taken.size < limit) {
      const round = deliveries
        .heads(lane)
        .filter((head) => isDue(head.standing, now) && !taken.has(head) && placesOf(head.integration_id) > 0)
        .toSorted(byDue)
        .slice(0, limit - taken.size)
      if (round.length === 0) break
      for (const delivery of round) {
        places.set(delivery.integration_id, placesOf(delivery.integration_id) - 1)
        deliveries.move(delivery, claimed(delivery.standing, lease))
        taken.add(delivery)
      }
    }
  }
  return [...taken]
}

const byDue = (a: StoredDelivery, b: StoredDelivery): number =>
  (a.standing.due_at ?? 0) - (b.standing.due_at ?? 0) || a.integration_id - b.integration_id
