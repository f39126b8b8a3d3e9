/**
 * The deliveries that one dispatcher holds under lease, in the order in which they are to be sent.
 *
 * Lanes go before each other by urgency; within a lane the integrations take turns; each integration has so many places
 * and no more. Some of its places, and of all places, are kept for what is urgent; retries together never take more than
 * half of all, nor do integrations whose attempts time out. So neither a backlog, nor a receiver that answers nothing, nor
 * a hundred of them, hold up what is urgent or healthy.
 *
 * Plain data in one process: nothing here waits or fails.
 */
import type { Lane, LeasedDelivery } from "../../domain/Delivery.ts"
import { isRetryLane, isUrgentLane, lanes } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import type { Roll } from "../../ports/DeliveryStore.ts"
import { alone, shareOf } from "./Shares.ts"

interface Entry {
  readonly queues: Readonly<Record<Lane, Array<LeasedDelivery>>>
  queued: number
  /** Requests open to the integration. */
  open: number
  /** Deliveries held: queued, reserved or open. */
  held: number
  /** How many may be held: many while the receiver keeps up, few once it was too slow for that. */
  depth: number
  /** The store has more of it than was handed over: new deliveries must queue behind those. */
  behind: boolean
  /** Its last attempt failed, and took its time to. */
  slow: boolean
}

/** How an attempt went, for the places of its integration. Null: there was none, or it failed quickly. */
export type Pace = "acknowledged" | "slow" | null

/** How much is held, and how much of it is sent at once. */
export interface LaneBufferOptions {
  readonly concurrency: number
  readonly concurrencyPerIntegration: number
  /** The most deliveries held in all. */
  readonly buffer: number
}

/** The most deliveries held of one integration, as a share of all. */
const deepest = 1 / 8

export class LaneBuffer {
  private readonly entries = new Map<IntegrationId, Entry>()
  /** For each lane, the integrations that have something in it and a free place, in turn. */
  private readonly turns = noTurns()
  /** The same for those that are slow: they have their turns after the others. */
  private readonly slowTurns = noTurns()
  private readonly options: LaneBufferOptions
  private heldTotal = 0
  private openTotal = 0
  private openRetries = 0
  /** Requests open to integrations that are slow. */
  private openSlow = 0
  private queuedTotal = 0
  private roll: Roll = alone

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

  /** How many more deliveries can be taken over. */
  get room(): number {
    return Math.max(0, this.options.buffer - this.heldTotal)
  }

  /** How many deliveries of an integration are taken over at most while nothing speaks against it. */
  get depth(): number {
    return Math.max(this.minimum, Math.floor(this.options.buffer * deepest))
  }

  /** How many deliveries of an integration are taken over however full the buffer is: what its places need. */
  get minimum(): number {
    return 2 * this.options.concurrencyPerIntegration
  }

  /** For integrations that we hold something of, how many more to claim; for all others it is `depth`. */
  get appetites(): ReadonlyMap<IntegrationId, number> {
    const appetites = new Map<IntegrationId, number>()
    for (const [id, entry] of this.entries) appetites.set(id, this.appetiteOf(entry))
    return appetites
  }

  /** Whether something that is known to wait in the store should be claimed now. */
  get hasAppetite(): boolean {
    for (const entry of this.entries.values()) if (entry.behind && this.appetiteOf(entry) > 0) return true
    return false
  }

  /** Integrations that are known to have more in the store. */
  get behind(): ReadonlyArray<IntegrationId> {
    return Array.from(this.entries).flatMap(([id, entry]) => (entry.behind ? [id] : []))
  }

  /** Shares the places of each integration with other workers from now on. */
  share(roll: Roll): void {
    this.roll = roll
    for (const [id, entry] of this.entries) this.offerTurns(id, entry)
  }

  /** Keeps room for a delivery that is about to be stored; false when it should wait in the store instead. */
  reserve(integration: IntegrationId, lane: Lane): boolean {
    const entry = this.entryOf(integration)
    const { buffer, concurrency, concurrencyPerIntegration } = this.options
    // What is urgent overtakes the backlog of its own integration too, and has room of its own.
    const fits = isUrgentLane(lane)
      ? this.heldTotal < buffer + concurrency && entry.held < entry.depth + concurrencyPerIntegration
      : entry.held < this.depthOf(entry) && !entry.behind
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

  /**
   * Takes out what waits for an integration under leases that end before a time, because its turn came too late, and
   * holds less of it from now on.
   */
  removeLate(integration: IntegrationId, leaseEndsBefore: number): ReadonlyArray<LeasedDelivery> {
    const entry = this.entryOf(integration)
    entry.depth = this.minimum
    return this.remove(integration, ({ lease }) => lease.until < leaseEndsBefore)
  }

  /** Notes what a claim showed: whether the store still has more of an integration than was taken. */
  setBehind(integration: IntegrationId, behind: boolean): void {
    const entry = this.entries.get(integration)
    if (entry === undefined) return
    entry.behind = behind
    if (entry.held === 0 && !behind) this.entries.delete(integration)
  }

  /** The next delivery to send, of all or of those that are urgent, its place taken; undefined when there is none now. */
  next(which: "urgent" | "all" = "all"): LeasedDelivery | undefined {
    for (const lane of lanes) {
      if (which === "urgent" && !isUrgentLane(lane)) return undefined
      if (this.openTotal >= placesFor(lane, this.options.concurrency)) return undefined
      if (isRetryLane(lane) && this.openRetries >= this.halfOfPlaces) continue
      const id = firstOf(this.turns[lane]) ?? this.firstSlow(lane)
      if (id === undefined) continue
      const delivery = this.take(id, lane)
      if (delivery !== undefined) return delivery
    }
    return undefined
  }

  /**
   * The attempt is over, or was not made: its place is free. Of an integration that has become slow, what is held beyond
   * its minimum is taken out: the caller gives it back to the store.
   */
  answered(delivery: LeasedDelivery, pace: Pace): ReadonlyArray<LeasedDelivery> {
    const id = delivery.integration.id
    const entry = this.entryOf(id)
    const hasSlowed = pace === "slow" && !entry.slow
    if (pace !== null) this.setSlow(entry, pace === "slow")
    entry.open--
    this.openTotal--
    if (entry.slow) this.openSlow--
    if (isRetryLane(delivery.lane)) this.openRetries--
    this.offerTurns(id, entry)
    this.drop(id)
    if (!hasSlowed) return []
    entry.depth = this.minimum
    let staying = Math.max(0, this.minimum - entry.open)
    const surplus = this.remove(id, () => staying-- <= 0)
    if (surplus.length > 0) entry.behind = true
    return surplus
  }

  /** Takes out what waits for an integration. The caller gives it back to the store. */
  removeOf(integration: IntegrationId): ReadonlyArray<LeasedDelivery> {
    return this.remove(integration, () => true)
  }

  /** Takes out all that waits. */
  removeAll(): ReadonlyArray<LeasedDelivery> {
    return [...this.entries.keys()].flatMap((id) => this.removeOf(id))
  }

  /**
   * How many may be held of an integration now. The second half of the buffer is for those that hold less than an equal
   * share of it, and each has its minimum even when the buffer is full: so slow integrations, however many, leave room
   * for others.
   */
  private depthOf(entry: Entry): number {
    const { buffer } = this.options
    if (2 * this.heldTotal < buffer) return entry.depth
    const share = this.heldTotal < buffer ? Math.floor(buffer / (this.entries.size + 1)) : 0
    return Math.min(entry.depth, Math.max(this.minimum, share))
  }

  /** How much more of an integration should be claimed: nothing before most of what is held has been sent. */
  private appetiteOf(entry: Entry): number {
    const depth = this.depthOf(entry)
    return entry.queued > depth / 4 ? 0 : Math.max(0, depth - entry.held)
  }

  /** The places that retries may use, and those that slow integrations may. */
  private get halfOfPlaces(): number {
    return Math.max(1, Math.floor(this.options.concurrency / 2))
  }

  /** Slow integrations leave half of all places to others; what is urgent uses any. */
  private firstSlow(lane: Lane): IntegrationId | undefined {
    return isUrgentLane(lane) || this.openSlow < this.halfOfPlaces ? firstOf(this.slowTurns[lane]) : undefined
  }

  private setSlow(entry: Entry, slow: boolean): void {
    if (entry.slow === slow) return
    entry.slow = slow
    this.openSlow += slow ? entry.open : -entry.open
  }

  private remove(
    integration: IntegrationId,
    test: (delivery: LeasedDelivery) => boolean
  ): ReadonlyArray<LeasedDelivery> {
    const entry = this.entries.get(integration)
    if (entry === undefined) return []
    const removed: Array<LeasedDelivery> = []
    for (const lane of lanes) {
      const queue = entry.queues[lane]
      const staying: Array<LeasedDelivery> = []
      for (const delivery of queue) (test(delivery) ? removed : staying).push(delivery)
      queue.splice(0, queue.length, ...staying)
    }
    entry.queued -= removed.length
    this.queuedTotal -= removed.length
    this.offerTurns(integration, entry)
    for (let i = 0; i < removed.length; i++) this.drop(integration)
    return removed
  }

  private entryOf(integration: IntegrationId): Entry {
    const known = this.entries.get(integration)
    if (known !== undefined) return known
    const queues = { 0: [], 1: [], 2: [], 3: [] }
    const entry: Entry = { queues, queued: 0, open: 0, held: 0, depth: this.depth, behind: false, slow: false }
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
    entry.queued++
    this.queuedTotal++
    this.offerTurns(id, entry)
  }

  private take(id: IntegrationId, lane: Lane): LeasedDelivery | undefined {
    const entry = this.entryOf(id)
    ;(entry.slow ? this.slowTurns : this.turns)[lane].delete(id)
    const delivery = entry.queues[lane].shift()
    if (delivery === undefined) return undefined
    entry.queued--
    this.queuedTotal--
    // It is through with what it was given while there is more: it can be given more at once.
    if (entry.queued === 0 && entry.behind) entry.depth = Math.min(this.depth, 2 * entry.depth)
    entry.open++
    this.openTotal++
    if (entry.slow) this.openSlow++
    if (isRetryLane(lane)) this.openRetries++
    this.offerTurns(id, entry)
    return delivery
  }

  private offerTurns(id: IntegrationId, entry: Entry): void {
    const places = shareOf(this.options.concurrencyPerIntegration, id, this.roll)
    const [own, other] = entry.slow ? [this.slowTurns, this.turns] : [this.turns, this.slowTurns]
    for (const lane of lanes) {
      const hasPlace = entry.open < placesFor(lane, places)
      other[lane].delete(id)
      if (hasPlace && entry.queues[lane].length > 0) own[lane].add(id)
      else own[lane].delete(id)
    }
  }
}

/** How many of some places a lane may use: all when it is urgent, four fifths otherwise, one at least. */
const placesFor = (lane: Lane, places: number): number =>
  isUrgentLane(lane) ? places : Math.max(1, Math.floor(places * 0.8))

const noTurns = (): Readonly<Record<Lane, Set<IntegrationId>>> => ({
  0: new Set(),
  1: new Set(),
  2: new Set(),
  3: new Set()
})

const firstOf = <A>(set: ReadonlySet<A>): A | undefined => {
  for (const item of set) return item
  return undefined
}
