/**
 * Stored deliveries with indexes by integration and by event. Waiting deliveries are also indexed by lane and
 * integration, leased ones by worker.
 */
import { Brand } from "effect"
import type { Attempt, Delivery, DeliveryReason, DeliveryState, Lane } from "../model/Delivery.ts"
import { activeStates, lanes, noDeliveries } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import type { DeliveryId, EventId, IntegrationId } from "../model/Ids.ts"
import type { Scope } from "../model/Integration.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type { FeedPlace, FeedSource, NewDelivery } from "../ports/DeliveryStore.ts"
import type { QueueEntry } from "../delivery/Transitions.ts"
import { scopesOf } from "../delivery/StoreRules.ts"
import { cancel } from "../delivery/Transitions.ts"
import { DueHeap } from "./DueHeap.ts"

/** Brands without validation, because a generated id is always valid. */
const brandedDeliveryId = Brand.nominal<DeliveryId>()

export interface StoredDelivery {
  readonly id: DeliveryId
  readonly event: Event
  readonly integration_id: IntegrationId
  readonly history: Array<Attempt>
  standing: QueueEntry
  heap_index: number
}

/** Returns a stored delivery in the form for callers. */
export const toDelivery = ({ event, id, integration_id, standing }: StoredDelivery): Delivery => ({
  id,
  event_id: event.id,
  integration_id,
  state: standing.state,
  reason: standing.reason,
  attempts: standing.attempts,
  next_attempt_at: standing.worker === null ? standing.due_at : null,
  created_at: event.created_at
})

export interface StoredEvent {
  /** Sequence number of the event in storage order. */
  readonly seq: number
  readonly created_at: number
  readonly event: Event
  readonly deliveries: ReadonlyArray<StoredDelivery>
}

const active: ReadonlySet<DeliveryState> = new Set(activeStates)

type Heaps = Map<IntegrationId, DueHeap<StoredDelivery>>

/** Counts the items that meet a condition. These must all be at the beginning of the list. */
export const countWhile = <A>(list: ReadonlyArray<A>, meets: (item: A) => boolean): number => {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const item = list[middle]
    if (item !== undefined && meets(item)) low = middle + 1
    else high = middle
  }
  return low
}

const listKey = (type: Scope["type"], id: number, resource_type: ResourceType): string =>
  `${type} ${id} ${resource_type}`

/** Returns the keys of the lists that contain an event: its building's list and one list per tenant. */
const listsOf = ({ building_id, resource_type, tenant_ids }: Event): ReadonlyArray<string> => {
  const keys = [listKey("building", building_id, resource_type)]
  for (const id of tenant_ids) {
    const key = listKey("tenant", id, resource_type)
    if (!keys.includes(key)) keys.push(key)
  }
  return keys
}

/** The later position and the later time of two. */
const latestOf = (one: FeedPlace | null, other: FeedPlace): FeedPlace => ({
  position: Math.max(one?.position ?? 0, other.position),
  created_at: Math.max(one?.created_at ?? Number.MIN_SAFE_INTEGER, other.created_at)
})

const feedKey = ({ id, type }: FeedSource): string => `${type} ${id}`

export class DeliveryTable {
  /** All deliveries. Id n is at index n - 1, which is empty once the delivery is purged. */
  private readonly all: Array<StoredDelivery | undefined> = []
  private lastSeq = 0
  /** Events by building or tenant, in storage order. */
  private readonly feeds = new Map<string, Array<StoredEvent>>()
  /** The last purged item of each feed by type. */
  private readonly purged = new Map<string, Map<ResourceType, FeedPlace>>()
  readonly events = new Map<EventId, StoredEvent>()
  /** The events in storage order. */
  private readonly inOrder: Array<StoredEvent> = []
  readonly byIntegration = new Map<IntegrationId, Array<StoredDelivery>>()
  /** Events by building or tenant and by type, in the order of publication. */
  private readonly lists = new Map<string, Array<Event>>()
  readonly counts: Record<DeliveryState, number> = { ...noDeliveries }
  /** Deliveries without a lease that are or will be due, by lane and integration. */
  private readonly waiting: Readonly<Record<Lane, Heaps>> = { 0: new Map(), 1: new Map(), 2: new Map(), 3: new Map() }
  /** Leased deliveries by worker. */
  private readonly leases = new Map<string, Set<StoredDelivery>>()

  get(id: DeliveryId): StoredDelivery | undefined {
    return this.all[id - 1]
  }

  /** Yields the deliveries after the given id, in ascending order. */
  *since(after: DeliveryId | 0): Iterable<StoredDelivery> {
    for (let at: number = after; at < this.all.length; at++) {
      const delivery = this.all[at]
      if (delivery !== undefined) yield delivery
    }
  }

  /** Yields the deliveries before the given id (all if undefined), in descending order. */
  *until(before: DeliveryId | undefined): Iterable<StoredDelivery> {
    for (let at = (before ?? this.all.length + 1) - 2; at >= 0; at--) {
      const delivery = this.all[at]
      if (delivery !== undefined) yield delivery
    }
  }

  /** Stores an event with its deliveries. */
  addEvent(
    event: Event,
    wanted: ReadonlyArray<NewDelivery>,
    standingOf: (delivery: NewDelivery) => QueueEntry
  ): ReadonlyArray<StoredDelivery> {
    const deliveries = wanted.map((delivery) => this.add(event, delivery.integration_id, standingOf(delivery)))
    const stored = { seq: ++this.lastSeq, created_at: event.created_at, event, deliveries }
    this.events.set(event.id, stored)
    this.inOrder.push(stored)
    for (const scope of scopesOf([event])) {
      const feed = this.feeds.get(feedKey(scope))
      if (feed === undefined) this.feeds.set(feedKey(scope), [stored])
      else feed.push(stored)
    }
    for (const key of listsOf(event)) {
      const list = this.lists.get(key)
      if (list === undefined) this.lists.set(key, [event])
      // If the clock was set back, the event is inserted by its time.
      else if ((list.at(-1)?.created_at ?? 0) <= event.created_at) list.push(event)
      else
        list.splice(
          countWhile(list, ({ created_at }) => created_at <= event.created_at),
          0,
          event
        )
    }
    return deliveries
  }

  /** Returns the first events after a sequence number, in storage order. */
  storedAfter(after: number, limit: number): ReadonlyArray<StoredEvent> {
    const from = countWhile(this.inOrder, ({ seq }) => seq <= after)
    return this.inOrder.slice(from, from + limit)
  }

  /** Returns the events of a building or tenant, in storage order. */
  feedOf(scope: Scope): ReadonlyArray<StoredEvent> {
    return this.feeds.get(feedKey(scope)) ?? []
  }

  /** Returns the last position and the latest time of the purged items of a feed, of the given types or all. */
  lastPurged(source: FeedSource, types: ReadonlyArray<ResourceType> | undefined): FeedPlace | null {
    let last: FeedPlace | null = null
    for (const [type, place] of this.purged.get(feedKey(source)) ?? [])
      if (types?.includes(type) !== false) last = latestOf(last, place)
    return last
  }

  private notePurged(source: FeedSource, type: ResourceType, place: FeedPlace): void {
    const places = this.purged.get(feedKey(source)) ?? new Map<ResourceType, FeedPlace>()
    this.purged.set(feedKey(source), places)
    places.set(type, latestOf(places.get(type) ?? null, place))
  }

  /** Returns the last assigned delivery id and event sequence number. */
  lastIds(): { readonly deliveries: number; readonly events: number } {
    return { deliveries: this.all.length, events: this.lastSeq }
  }

  /** Returns the events of a building or tenant, in order of publication. */
  eventsOf({ id, type }: Scope, resource_type: ResourceType): ReadonlyArray<Event> {
    return this.lists.get(listKey(type, id, resource_type)) ?? []
  }

  /** Deletes an event and its deliveries. Call `forget` once after deleting all events. */
  removeEvent(id: EventId): void {
    const stored = this.events.get(id)
    if (stored === undefined) return
    const { created_at, deliveries, event, seq } = stored
    for (const delivery of deliveries) {
      this.all[delivery.id - 1] = undefined
      this.unqueue(delivery)
      this.counts[delivery.standing.state]--
      const source = { type: "integration", id: delivery.integration_id } as const
      this.notePurged(source, event.resource_type, { position: delivery.id, created_at })
    }
    for (const scope of scopesOf([event])) this.notePurged(scope, event.resource_type, { position: seq, created_at })
    this.events.delete(id)
    this.inOrder.splice(
      countWhile(this.inOrder, (each) => each.seq < seq),
      1
    )
  }

  /** Removes deleted events from their lists, and their deliveries from the lists of the integrations. */
  forget(deleted: ReadonlyArray<Event>, integrations: Iterable<IntegrationId>): void {
    for (const key of scopesOf(deleted).map(feedKey)) {
      const left = this.feeds.get(key)?.filter(({ event }) => this.events.has(event.id)) ?? []
      if (left.length === 0) this.feeds.delete(key)
      else this.feeds.set(key, left)
    }
    for (const key of new Set(deleted.flatMap(listsOf))) {
      const left = this.lists.get(key)?.filter(({ id }) => this.events.has(id)) ?? []
      if (left.length === 0) this.lists.delete(key)
      else this.lists.set(key, left)
    }
    for (const id of integrations) {
      const left = (this.byIntegration.get(id) ?? []).filter((delivery) => this.get(delivery.id) !== undefined)
      if (left.length === 0) this.byIntegration.delete(id)
      else this.byIntegration.set(id, left)
    }
  }

  private add(event: Event, integration_id: IntegrationId, standing: QueueEntry): StoredDelivery {
    const id = brandedDeliveryId(this.all.length + 1)
    const delivery: StoredDelivery = { id, event, integration_id, history: [], standing, heap_index: 0 }
    this.all.push(delivery)
    const siblings = this.byIntegration.get(integration_id)
    if (siblings === undefined) this.byIntegration.set(integration_id, [delivery])
    else siblings.push(delivery)
    this.counts[standing.state]++
    this.queue(delivery)
    return delivery
  }

  /** Changes the state of a delivery and updates the indexes. */
  move(delivery: StoredDelivery, standing: QueueEntry): void {
    this.unqueue(delivery)
    this.counts[delivery.standing.state]--
    delivery.standing = standing
    this.counts[standing.state]++
    this.queue(delivery)
  }

  /** Ends all active deliveries of an integration. Leased ones keep their worker. */
  cancelActive(integration: IntegrationId, reason: DeliveryReason): void {
    for (const lane of lanes) {
      const heaps = this.waiting[lane]
      for (let next = heaps.get(integration)?.first; next !== undefined; next = heaps.get(integration)?.first)
        this.move(next, cancel(next.standing, reason))
    }
    for (const leased of this.leases.values())
      for (const delivery of leased)
        if (delivery.integration_id === integration && delivery.standing.state === "delivering")
          this.move(delivery, cancel(delivery.standing, reason))
  }

  /** Ends the active deliveries of an event. Leased ones keep their worker. */
  cancelEvent(id: EventId, reason: DeliveryReason): void {
    for (const delivery of this.events.get(id)?.deliveries ?? [])
      if (active.has(delivery.standing.state)) this.move(delivery, cancel(delivery.standing, reason))
  }

  /** Returns the next delivery of each integration in a lane. */
  heads(lane: Lane): Array<StoredDelivery> {
    const heads: Array<StoredDelivery> = []
    for (const { first } of this.waiting[lane].values()) if (first !== undefined) heads.push(first)
    return heads
  }

  /** Returns the next delivery of one integration in a lane. */
  head(lane: Lane, integration: IntegrationId): StoredDelivery | undefined {
    return this.waiting[lane].get(integration)?.first
  }

  /** Returns the waiting deliveries of one integration, in no particular order. */
  waitingOf(integration: IntegrationId): ReadonlyArray<StoredDelivery> {
    return lanes.flatMap((lane) => this.waiting[lane].get(integration)?.items ?? [])
  }

  /** Returns when the first waiting delivery is due; null if none waits. */
  nextDue(): number | null {
    let earliest: number | null = null
    for (const lane of lanes)
      for (const { first } of this.waiting[lane].values()) {
        const due_at = first?.standing.due_at ?? null
        if (due_at !== null && (earliest === null || due_at < earliest)) earliest = due_at
      }
    return earliest
  }

  /** Returns the workers with leases. */
  holders(): ReadonlyArray<string> {
    return [...this.leases.keys()]
  }

  /** Returns the deliveries leased to a worker. */
  heldBy(worker: string): ReadonlyArray<StoredDelivery> {
    return [...(this.leases.get(worker) ?? [])]
  }

  private queue(delivery: StoredDelivery): void {
    const { due_at, lane, worker } = delivery.standing
    if (worker !== null) {
      const leased = this.leases.get(worker)
      if (leased === undefined) this.leases.set(worker, new Set([delivery]))
      else leased.add(delivery)
    } else if (due_at !== null) {
      const heaps = this.waiting[lane]
      const heap = heaps.get(delivery.integration_id) ?? new DueHeap<StoredDelivery>()
      heaps.set(delivery.integration_id, heap)
      heap.add(delivery)
    }
  }

  private unqueue(delivery: StoredDelivery): void {
    const { due_at, lane, worker } = delivery.standing
    if (worker !== null) {
      const leased = this.leases.get(worker)
      leased?.delete(delivery)
      if (leased?.size === 0) this.leases.delete(worker)
    } else if (due_at !== null) {
      const heaps = this.waiting[lane]
      const heap = heaps.get(delivery.integration_id)
      heap?.remove(delivery)
      if (heap?.size === 0) heaps.delete(delivery.integration_id)
    }
  }
}
