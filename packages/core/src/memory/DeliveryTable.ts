/**
 * Stored deliveries with the indexes over them: by integration, by event, and what waits by lane and integration.
 */
import type { Attempt, Delivery, DeliveryReason, DeliveryState, Lane } from "../domain/Delivery.ts"
import { lanes } from "../domain/Delivery.ts"
import type { Event } from "../domain/Event.ts"
import type { EventId, IntegrationId } from "../domain/Ids.ts"
import { DeliveryId } from "../domain/Ids.ts"
import { DueHeap } from "./DueHeap.ts"

/** The members of a delivery that change. */
export interface Standing {
  state: DeliveryState
  reason: DeliveryReason | null
  /** How many attempts were made. */
  attempts: number
  lane: Lane
  /** When it can be claimed; of a delivery under lease, when the lease ends. Null unless it is active. */
  due_at: number | null
  /** The lease it is attempted under. One cancelled meanwhile keeps it, so that its attempt is recorded all the same. */
  lease_token: string | null
  /** 1: the next attempt was asked for. 2: it was asked for during an attempt, so that one more follows. */
  resend: 0 | 1 | 2
}

export interface StoredDelivery extends Standing {
  readonly id: DeliveryId
  readonly event: Event
  readonly integration_id: IntegrationId
  readonly history: Array<Attempt>
  heap_index: number
}

/** What the outside sees of a stored delivery. */
export const toDelivery = (stored: StoredDelivery): Delivery => ({
  id: stored.id,
  event_id: stored.event.id,
  integration_id: stored.integration_id,
  state: stored.state,
  reason: stored.reason,
  attempts: stored.attempts,
  next_attempt_at: stored.due_at,
  created_at: stored.event.created_at
})

interface StoredEvent {
  readonly event: Event
  readonly deliveries: ReadonlyArray<StoredDelivery>
}

type Heaps = Map<IntegrationId, DueHeap<StoredDelivery>>

export class DeliveryTable {
  /** All deliveries; the one with id n is at n - 1. */
  readonly all: Array<StoredDelivery> = []
  readonly events = new Map<EventId, StoredEvent>()
  readonly byIntegration = new Map<IntegrationId, Array<StoredDelivery>>()
  readonly counts: Record<DeliveryState, number> = {
    pending: 0,
    delivering: 0,
    retrying: 0,
    delivered: 0,
    exhausted: 0,
    expired: 0,
    cancelled: 0,
    skipped: 0
  }
  /** What waits, of each lane, of each integration. */
  private readonly waiting: Readonly<Record<Lane, Heaps>> = { 0: new Map(), 1: new Map(), 2: new Map(), 3: new Map() }

  get(id: DeliveryId): StoredDelivery | undefined {
    return this.all[id - 1]
  }

  add(event: Event, integration_id: IntegrationId, standing: Standing): StoredDelivery {
    const id = DeliveryId.make(this.all.length + 1)
    const delivery = { id, event, integration_id, history: [], heap_index: 0, ...standing }
    this.all.push(delivery)
    const siblings = this.byIntegration.get(integration_id)
    if (siblings === undefined) this.byIntegration.set(integration_id, [delivery])
    else siblings.push(delivery)
    this.counts[delivery.state]++
    this.queue(delivery)
    return delivery
  }

  /** Changes where a delivery stands, and the indexes with it. */
  move(delivery: StoredDelivery, change: Partial<Standing>): void {
    this.unqueue(delivery)
    this.counts[delivery.state]--
    Object.assign(delivery, change)
    this.counts[delivery.state]++
    this.queue(delivery)
  }

  /** Ends all active deliveries of an integration. One under lease keeps its token. */
  cancelActive(integration: IntegrationId, reason: DeliveryReason): void {
    for (const lane of lanes) {
      const heaps = this.waiting[lane]
      for (let next = heaps.get(integration)?.first; next !== undefined; next = heaps.get(integration)?.first) {
        this.move(next, { state: "cancelled", reason, due_at: null, resend: 0 })
      }
    }
  }

  /** Of each integration that waits in a lane, the delivery to take next. */
  heads(lane: Lane): Array<StoredDelivery> {
    const heads: Array<StoredDelivery> = []
    for (const { first } of this.waiting[lane].values()) if (first !== undefined) heads.push(first)
    return heads
  }

  /** The earliest time at which anything can be claimed. */
  nextDue(): number | null {
    let earliest: number | null = null
    for (const lane of lanes) {
      for (const { due_at } of this.heads(lane)) {
        if (due_at !== null && (earliest === null || due_at < earliest)) earliest = due_at
      }
    }
    return earliest
  }

  private queue(delivery: StoredDelivery): void {
    if (delivery.due_at === null) return
    const heaps = this.waiting[delivery.lane]
    const heap = heaps.get(delivery.integration_id) ?? new DueHeap<StoredDelivery>()
    heaps.set(delivery.integration_id, heap)
    heap.add(delivery)
  }

  private unqueue(delivery: StoredDelivery): void {
    if (delivery.due_at === null) return
    const heaps = this.waiting[delivery.lane]
    const heap = heaps.get(delivery.integration_id)
    heap?.remove(delivery)
    if (heap?.size === 0) heaps.delete(delivery.integration_id)
  }
}
