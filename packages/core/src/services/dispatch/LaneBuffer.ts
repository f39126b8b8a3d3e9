/**
 * The deliveries that one dispatcher holds under lease, in the order in which they are to be sent.
 *
 * Lanes go before each other by urgency; within a lane the integrations take turns; each integration has so many places
 * and no more. Some of its places, and of all places, are kept for what is urgent; retries together never take more than
 * half of all. So neither a backlog, nor a receiver that answers nothing, nor a hundred of them, hold up what is urgent
 * or healthy.
 *
 * Plain data in one process: nothing here waits or fails.
 */
import type { Lane, LeasedDelivery } from "../../domain/Delivery.ts"
import { isRetryLane, isUrgentLane, lanes } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"

interface Entry {
  readonly queues: Readonly<Record<Lane, Array<LeasedDelivery>>>
  /** Requests open to the integration. */
  open: number
  /** Deliveries held: queued, reserved, open, or not yet settled. */
  held: number
  /** The store has more of it than was handed over: new deliveries must queue behind those. */
  behind: boolean
}

/** How much is held, and how much of it is sent at once. */
export interface LaneBufferOptions {
  readonly concurrency: number
  readonly concurrencyPerIntegration: number
}

export class LaneBuffer {
  private readonly entries = new Map<IntegrationId, Entry>()
  /** For each lane, the integrations that have something in it and a free place, in turn. */
  private readonly turns: Readonly<Record<Lane, Set<IntegrationId>>> = {
    0: new Set(),
    1: new Set(),
    2: new Set(),
    3: new Set()
  }
  private readonly options: LaneBufferOptions
  private heldTotal = 0
  private openTotal = 0
  private openRetries = 0
  private queuedTotal = 0

  constructor(options: LaneBufferOptions) {
    this.options = options
  }

  /** Requests open now. */
  get open(): number {
    return this.openTotal
  }

  /** Deliveries that wait for a place. */
  get queued(): number {
    return this.queuedTotal
  }

  /** How many more deliveries can be taken over: twice as many as can be open, so that no place waits for a claim. */
  get room(): number {
    return Math.max(0, 2 * this.options.concurrency - this.heldTotal)
  }

  /** Integrations of which no more should be claimed now. */
  get full(): ReadonlyArray<IntegrationId> {
    return this.idsWhere((entry) => this.isFull(entry))
  }

  /** Integrations that are known to have more in the store. */
  get behind(): ReadonlyArray<IntegrationId> {
    return this.idsWhere((entry) => entry.behind)
  }

  /** Whether something that is known to wait in the store could be taken over now. */
  get hasAppetite(): boolean {
    if (this.room === 0) return false
    for (const entry of this.entries.values()) if (entry.behind && !this.isFull(entry)) return true
    return false
  }

  /** Keeps room for a delivery that is about to be stored; false when it should wait in the store instead. */
  reserve(integration: IntegrationId, lane: Lane): boolean {
    const entry = this.entryOf(integration)
    const cap = this.options.concurrencyPerIntegration
    // What is urgent overtakes the backlog of its own integration too, and has room of its own.
    const fits = isUrgentLane(lane)
      ? this.heldTotal < 3 * this.options.concurrency && entry.held < 3 * cap
      : this.room > 0 && entry.held < 2 * cap && !entry.behind
    if (fits) this.hold(entry)
    else entry.behind = true
    return fits
  }

  /** Gives up a reservation. */
  unreserve(integration: IntegrationId): void {
    this.drop(integration)
  }

  /** Takes in a delivery for which room was reserved. */
  acceptReserved(delivery: LeasedDelivery): void {
    this.enqueue(delivery)
  }

  /** Takes in a delivery that was claimed. */
  acceptClaimed(delivery: LeasedDelivery): void {
    this.hold(this.entryOf(delivery.integration.id))
    this.enqueue(delivery)
  }

  /** Notes what a claim showed: whether the store still has more of an integration than was taken. */
  setBehind(integration: IntegrationId, behind: boolean): void {
    const entry = this.entries.get(integration)
    if (entry === undefined) return
    entry.behind = behind
    if (entry.held === 0 && !behind) this.entries.delete(integration)
  }

  /** The next delivery to send, its place taken; undefined when nothing may be sent now. */
  next(): LeasedDelivery | undefined {
    for (const lane of lanes) {
      if (this.openTotal >= placesFor(lane, this.options.concurrency)) return undefined
      if (isRetryLane(lane) && this.openRetries >= this.retryPlaces) continue
      const id = firstOf(this.turns[lane])
      if (id === undefined) continue
      const delivery = this.take(id, lane)
      if (delivery !== undefined) return delivery
    }
    return undefined
  }

  /** The answer came: the place is free, but the delivery is held until it is settled. */
  answered(delivery: LeasedDelivery): void {
    const entry = this.entryOf(delivery.integration.id)
    entry.open--
    this.openTotal--
    if (isRetryLane(delivery.lane)) this.openRetries--
    this.offerTurns(delivery.integration.id, entry)
  }

  /** A delivery is settled or given back. */
  settled(delivery: LeasedDelivery): void {
    this.drop(delivery.integration.id)
  }

  /** Takes out what waits for an integration. The caller gives it back to the store. */
  removeOf(integration: IntegrationId): ReadonlyArray<LeasedDelivery> {
    const entry = this.entries.get(integration)
    if (entry === undefined) return []
    const removed = lanes.flatMap((lane) => entry.queues[lane].splice(0))
    for (const lane of lanes) this.turns[lane].delete(integration)
    this.queuedTotal -= removed.length
    for (let i = 0; i < removed.length; i++) this.drop(integration)
    return removed
  }

  /** Takes out all that waits. */
  removeAll(): ReadonlyArray<LeasedDelivery> {
    return [...this.entries.keys()].flatMap((id) => this.removeOf(id))
  }

  private get retryPlaces(): number {
    return Math.max(1, Math.floor(this.options.concurrency / 2))
  }

  private isFull(entry: Entry): boolean {
    return entry.held > this.options.concurrencyPerIntegration
  }

  private idsWhere(test: (entry: Entry) => boolean): ReadonlyArray<IntegrationId> {
    const ids: Array<IntegrationId> = []
    for (const [id, entry] of this.entries) if (test(entry)) ids.push(id)
    return ids
  }

  private entryOf(integration: IntegrationId): Entry {
    const known = this.entries.get(integration)
    if (known !== undefined) return known
    const entry: Entry = { queues: { 0: [], 1: [], 2: [], 3: [] }, open: 0, held: 0, behind: false }
    this.entries.set(integration, entry)
    return entry
  }

  private hold(entry: Entry): void {
    entry.held++
    this.heldTotal++
  }

  private drop(integration: IntegrationId): void {
    const entry = this.entries.get(integration)
    if (entry === undefined) return
    entry.held--
    this.heldTotal--
    if (entry.held === 0 && !entry.behind) this.entries.delete(integration)
  }

  private enqueue(delivery: LeasedDelivery): void {
    const id = delivery.integration.id
    const entry = this.entryOf(id)
    entry.queues[delivery.lane].push(delivery)
    this.queuedTotal++
    this.offerTurns(id, entry)
  }

  private take(id: IntegrationId, lane: Lane): LeasedDelivery | undefined {
    this.turns[lane].delete(id)
    const entry = this.entryOf(id)
    const delivery = entry.queues[lane].shift()
    if (delivery === undefined) return undefined
    this.queuedTotal--
    entry.open++
    this.openTotal++
    if (isRetryLane(lane)) this.openRetries++
    this.offerTurns(id, entry)
    return delivery
  }

  private offerTurns(id: IntegrationId, entry: Entry): void {
    for (const lane of lanes) {
      const hasPlace = entry.open < placesFor(lane, this.options.concurrencyPerIntegration)
      if (hasPlace && entry.queues[lane].length > 0) this.turns[lane].add(id)
      else this.turns[lane].delete(id)
    }
  }
}

/** How many of some places a lane may use: all when it is urgent, four fifths otherwise, one at least. */
const placesFor = (lane: Lane, places: number): number =>
  isUrgentLane(lane) ? places : Math.max(1, Math.floor(places * 0.8))

const firstOf = <A>(set: ReadonlySet<A>): A | undefined => {
  for (const item of set) return item
  return undefined
}
