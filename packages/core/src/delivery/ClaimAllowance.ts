/**
 * Counts how many deliveries a claim may still take, in total and of each integration. Shared by all stores.
 */
import type { Lane } from "../model/Delivery.ts"
import { isUrgentLane } from "../model/Delivery.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { ClaimLimits, ClaimRequest } from "../ports/DeliveryStore.ts"

const limitOf = ({ limitPerIntegration, limits }: ClaimLimits, id: IntegrationId): number =>
  limits.get(id) ?? limitPerIntegration

export class ClaimAllowance {
  private readonly general: ClaimLimits
  private readonly urgent: ClaimLimits
  private total = 0
  private readonly taken = new Map<IntegrationId, number>()
  private readonly excluded = new Set<IntegrationId>()

  constructor(request: Pick<ClaimRequest, keyof ClaimLimits | "urgent">) {
    this.general = request
    this.urgent = request.urgent ?? request
  }

  /** Returns how many more deliveries of a lane the claim may take; 0 or less if none. */
  room(lane: Lane): number {
    const { limit } = this.general
    return (isUrgentLane(lane) ? Math.max(limit, this.urgent.limit) : limit) - this.total
  }

  /** Returns how many more deliveries of an integration in a lane the claim may take; 0 or less if none. */
  roomOf(id: IntegrationId, lane: Lane): number {
    if (this.excluded.has(id)) return 0
    const limit = limitOf(this.general, id)
    const most = isUrgentLane(lane) ? Math.max(limit, limitOf(this.urgent, id)) : limit
    return Math.min(this.room(lane), most - (this.taken.get(id) ?? 0))
  }

  /** Counts a delivery as claimed. */
  take(id: IntegrationId): void {
    this.total++
    this.taken.set(id, (this.taken.get(id) ?? 0) + 1)
  }

  /** Undoes `take` for a delivery that can't be sent. */
  giveBack(id: IntegrationId): void {
    this.total--
    this.taken.set(id, (this.taken.get(id) ?? 0) - 1)
  }

  /** Takes no more deliveries of an integration. */
  exclude(id: IntegrationId): void {
    this.excluded.add(id)
  }
}
