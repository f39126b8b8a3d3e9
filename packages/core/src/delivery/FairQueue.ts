/**
 * The deliveries that one dispatcher holds in memory: how many of which integration, and in which order they are sent.
 *
 * Lanes go before each other by urgency; within a lane the integrations take turns; each integration has its places and no
 * more. A fifth of its places, and of all places, is kept for urgent deliveries. Retries together use at most half of all
 * places, and so do slow integrations, so that neither a backlog nor a dead receiver, nor a hundred of them, hold up what is
 * urgent or healthy.
 *
 * The queue is bounded by a count and by the size of the events. An eighth of it is kept for urgent deliveries, a quarter
 * for integrations of which less is held than their places need. Of one integration it holds at most an eighth of all; once
 * half of the common room is used, an equal share; of a slow one what its places need; beside other workers, what its
 * places here send soon. The rest waits in the store and is claimed in turn.
 *
 * An integration with a rate of its own (`requests_per_second`) is left out of the turns until its next request may start.
 *
 * Plain data: nothing here waits or fails.
 */
import type { Lane, LeasedDelivery } from "../model/Delivery.ts"
import { isRetryLane, isUrgentLane, lanes, placesFor } from "../model/Delivery.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { Membership } from "../ports/DeliveryStore.ts"

export interface FairQueueOptions {
  /** The most requests open at once. */
  readonly concurrency: number
  /** The most requests open at once to one integration, over all workers. */
  readonly concurrencyPerIntegration: number
  /** The most deliveries held. */
  readonly buffer: number
  /** The most characters of event data held. */
  readonly queueBytes: number
}

/** What an attempt says about its receiver: acknowledged soon, slow however it ended, or nothing (null), as a prompt failure. */
export type LatencyClass = "prompt" | "slow" | null

/** How the workers over one store share the places of an integration. */
export type Share = Pick<Membership, "workers" | "rank">

/**
 * How many of an integration's places a worker has: an equal part; what is left over goes to the first workers, counted from
 * another one for each integration. With more workers than places each has one all the same, because one with none would
 * hold deliveries that it never sends.
 */
export const placesOf = (places: number, integration: IntegrationId, { rank, workers }: Share): number =>
  Math.max(1, Math.floor(places / workers) + ((rank + integration) % workers < places % workers ? 1 : 0))

/** What to claim. */
export interface ClaimDemand {
  readonly limit: number
  /** How many of an integration that nothing is held of. */
  readonly limitPerIntegration: number
  /** How many of integrations that something is held of. */
  readonly limits: ReadonlyMap<IntegrationId, number>
  /** The integrations that the store is known to have more of. */
  readonly behind: ReadonlyArray<IntegrationId>
}

/** How many deliveries of an integration a worker beside others holds at most for each of its places there. */
const besideOthers = 16

/** How far a rate catches up with requests that started late, in milliseconds: timers are not exact. */
const rateSlack = 50

/** A queue that is taken from at its head without moving what is behind it. */
class Fifo<A> {
  private items: Array<A> = []
  private head = 0

  get size(): number {
    return this.items.length - this.head
  }

  push(item: A): void {
    this.items.push(item)
  }

  shift(): A | undefined {
    const item = this.items[this.head]
    if (item === undefined) return undefined
    this.head++
    if (this.head > 64 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head)
      this.head = 0
    }
    return item
  }

  some(test: (item: A) => boolean): boolean {
    for (let at = this.head; at < this.items.length; at++) {
      const item = this.items[at]
      if (item !== undefined && test(item)) return true
    }
    return false
  }

  /** Takes out what passes a test. */
  extract(test: (item: A) => boolean, into: Array<A>): void {
    const staying: Array<A> = []
    for (const item of this.items.slice(this.head)) (test(item) ? into : staying).push(item)
    this.items = staying
    this.head = 0
  }
}

/** The part of one integration. */
interface Line {
  readonly id: IntegrationId
  /** Of each lane that something of it has been in. */
  readonly queues: [Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?]
  /** Whether it is in the turns of each lane. */
  readonly isOffered: [boolean, boolean, boolean, boolean]
  /** Deliveries held: reserved, queued or open. */
  held: number
  queued: number
  open: number
  /** How many may be held: many while the receiver keeps up, few once it was slow. */
  depth: number
  /** The store has more of it than was handed over: new deliveries queue behind that. */
  isBehind: boolean
  /** The last attempt that says something about its pace was slow. */
  isSlow: boolean
  /** When its rate lets the next request start, in milliseconds since the epoch; 0 without a rate. */
  readyAt: number
}

type Turns = Readonly<Record<Lane, Set<Line>>>

const noTurns = (): Turns => ({ 0: new Set(), 1: new Set(), 2: new Set(), 3: new Set() })

const firstOf = <A>(set: ReadonlySet<A>): A | undefined => {
  for (const item of set) return item
  return undefined
}

export class FairQueue {
  private readonly options: FairQueueOptions
  private readonly lines = new Map<IntegrationId, Line>()
  /** Lines that the store has more of. */
  private readonly behindLines = new Set<Line>()
  /** For each lane, the lines that have something in it and a free place, in turn. */
  private readonly turns = noTurns()
  /** Lines that wait for their rates. */
  private readonly pausedLines = new Set<Line>()
  /** The same as `turns` for slow ones, which come after the others. */
  private readonly slowTurns = noTurns()
  private share: Share = { workers: 1, rank: 0 }
  private heldTotal = 0
  private heldSlow = 0
  private heldBytes = 0
  private queuedTotal = 0
  private openTotal = 0
  private openRetries = 0
  private openSlow = 0
  private slowCount = 0
  /** The room for what is not urgent. */
  private readonly ordinary: number
  private readonly ordinaryBytes: number
  /** The part of it for integrations of which more is held than their places need. */
  private readonly common: number
  private readonly halfOfPlaces: number
  /** How much is held of one integration at most by a worker that is alone. */
  private readonly depthAlone: number
  /** How much is held of one integration at most. */
  private depth: number
  /** How much is held of a slow one at most. */
  private readonly minimum: number

  constructor(options: FairQueueOptions) {
    this.options = options
    const { buffer, concurrency, concurrencyPerIntegration } = options
    this.ordinary = buffer - Math.min(concurrency, Math.floor(buffer / 8))
    this.ordinaryBytes = options.queueBytes - Math.floor(options.queueBytes / 8)
    this.common = this.ordinary - Math.floor(buffer / 4)
    this.minimum = 2 * concurrencyPerIntegration
    this.depthAlone = Math.max(this.minimum, Math.floor(buffer / 8))
    this.depth = this.depthAlone
    this.halfOfPlaces = Math.max(1, Math.floor(concurrency / 2))
  }

  /** Requests open now. */
  get open(): number {
    return this.openTotal
  }

  /** Deliveries that wait for a place. */
  get queued(): number {
    return this.queuedTotal
  }

  /** Deliveries held: reserved, queued or open. */
  get held(): number {
    return this.heldTotal
  }

  /** How many more deliveries can be claimed. */
  get room(): number {
    return this.heldBytes < this.ordinaryBytes ? Math.max(0, this.ordinary - this.heldTotal) : 0
  }

  /**
   * Shares the places of each integration with other workers from now on. Takes out what is held beyond that, so that they
   * can claim it: the caller releases it.
   */
  shareWith(share: Share): ReadonlyArray<LeasedDelivery> {
    const places = Math.ceil(this.options.concurrencyPerIntegration / share.workers)
    const most = share.workers === 1 ? this.depthAlone : Math.max(this.minimum, besideOthers * places)
    this.share = share
    this.depth = Math.min(this.depthAlone, most)
    return [...this.lines.values()].flatMap((line) => {
      const isTooDeep = line.depth > this.depth
      if (isTooDeep) line.depth = this.depth
      const surplus = isTooDeep ? this.extractSurplus(line) : []
      this.offer(line)
      return surplus
    })
  }

  /** How many requests this worker may have open to an integration. */
  placesTo(id: IntegrationId): number {
    return placesOf(this.options.concurrencyPerIntegration, id, this.share)
  }

  /** Keeps room for a delivery that is about to be stored; false when it should wait in the store instead. */
  reserve(id: IntegrationId, lane: Lane, bytes: number): boolean {
    const line = this.lineOf(id)
    if (isUrgentLane(lane) ? this.fitsUrgent(line) : this.fits(line)) {
      this.hold(line, bytes)
      return true
    }
    this.setBehind(line, true)
    return false
  }

  /** Gives up a reservation. */
  unreserve(id: IntegrationId, bytes: number): void {
    const line = this.lines.get(id)
    if (line !== undefined) this.drop(line, bytes)
  }

  /** Queues a delivery that is leased to this worker. */
  add(delivery: LeasedDelivery): void {
    const line = this.lineOf(delivery.integration.id)
    this.hold(line, delivery.event.data.length)
    const waiting = (line.queues[delivery.lane] ??= new Fifo())
    waiting.push(delivery)
    line.queued++
    this.queuedTotal++
    this.offerLane(line, delivery.lane)
  }

  /** The next delivery to send, of all or of the urgent ones, its place taken; undefined when there is none now. */
  next(which: "urgent" | "all" = "all"): LeasedDelivery | undefined {
    for (const lane of lanes) {
      if (which === "urgent" && !isUrgentLane(lane)) return undefined
      if (this.openTotal >= placesFor(lane, this.options.concurrency)) return undefined
      if (isRetryLane(lane) && this.openRetries >= this.halfOfPlaces) continue
      const line = firstOf(this.turns[lane]) ?? this.firstSlow(lane)
      const delivery = line === undefined ? undefined : this.take(line, lane)
      if (delivery !== undefined) return delivery
    }
    return undefined
  }

  /**
   * Frees the place of a delivery whose attempt is over, or was not made. When its integration has become slow by it, what
   * is held beyond its limit is taken out: the caller releases it.
   */
  finish(delivery: LeasedDelivery, latencyClass: LatencyClass): ReadonlyArray<LeasedDelivery> {
    const line = this.lines.get(delivery.integration.id)
    if (line === undefined) return []
    const hasSlowed = latencyClass !== null && this.setSlow(line, latencyClass === "slow")
    line.open--
    this.openTotal--
    if (line.isSlow) this.openSlow--
    if (isRetryLane(delivery.lane)) this.openRetries--
    this.offer(line)
    if (!hasSlowed) {
      this.drop(line, delivery.event.data.length)
      return []
    }
    line.depth = this.minimum
    const surplus = this.extractSurplus(line)
    this.drop(line, delivery.event.data.length)
    return surplus
  }

  /**
   * Notes that a delivery with a rate is started: the next one of its integration waits until the rate allows it. What is held
   * beyond what is sent soon is taken out, so that calls have room: the caller releases it.
   */
  pace({ integration: { id, overrides } }: LeasedDelivery, now: number): ReadonlyArray<LeasedDelivery> {
    const line = this.lines.get(id)
    const { requests_per_second } = overrides
    if (requests_per_second === undefined || line === undefined) return []
    const interval = (1_000 * this.share.workers) / requests_per_second
    line.readyAt = Math.max(line.readyAt, now - rateSlack) + interval
    const isTooDeep = line.depth > this.minimum
    if (isTooDeep) line.depth = this.minimum
    if (line.readyAt > now) this.pausedLines.add(line)
    this.offer(line)
    return isTooDeep ? this.extractSurplus(line) : []
  }

  /** When the first integration that waits for its rate, and has something to send, may go on; null when there is none. */
  get resumesAt(): number | null {
    let first: number | null = null
    for (const { queued, readyAt } of this.pausedLines) {
      if (queued > 0 && (first === null || readyAt < first)) first = readyAt
    }
    return first
  }

  /** Gives integrations whose rates allow it their turns again. */
  resume(now: number): void {
    for (const line of this.pausedLines) {
      if (line.readyAt > now) continue
      this.pausedLines.delete(line)
      this.offer(line)
      this.forgetIfIdle(line)
    }
  }

  /** Whether anything that waits passes a test. */
  some(test: (delivery: LeasedDelivery) => boolean): boolean {
    for (const { queues } of this.lines.values())
      for (const waiting of queues) if (waiting?.some(test) === true) return true
    return false
  }

  /** Takes out what waits for an integration and passes a test. The caller releases it. */
  removeOf(id: IntegrationId, test: (delivery: LeasedDelivery) => boolean = () => true): ReadonlyArray<LeasedDelivery> {
    const line = this.lines.get(id)
    return line === undefined ? [] : this.extract(line, test)
  }

  /** Takes out what waits and passes a test. The caller releases it. */
  removeIf(test: (delivery: LeasedDelivery) => boolean): ReadonlyArray<LeasedDelivery> {
    return [...this.lines.values()].flatMap((line) => this.extract(line, test))
  }

  /** All that waits. */
  waiting(): ReadonlyArray<LeasedDelivery> {
    const found: Array<LeasedDelivery> = []
    const note = (delivery: LeasedDelivery): boolean => {
      found.push(delivery)
      return false
    }
    this.some(note)
    return found
  }

  /** What to claim at once. Of an integration that much is held of nothing, before most of that has been sent. */
  demand(most: number): ClaimDemand {
    const limits = new Map<IntegrationId, number>()
    for (const line of this.lines.values()) {
      const limit = this.limitOf(line)
      limits.set(line.id, line.queued > limit / 4 ? 0 : Math.max(0, limit - line.held))
    }
    const limitPerIntegration = Math.min(this.depth, this.shareOfOthers)
    const behind = Array.from(this.behindLines, ({ id }) => id)
    return { limit: this.claimLimit(most), limitPerIntegration, limits, behind }
  }

  /** Notes what was claimed, which shows what the store has more of. Says whether there may be more of anything. */
  claimed(
    { behind, limit, limitPerIntegration, limits }: ClaimDemand,
    deliveries: ReadonlyArray<LeasedDelivery>
  ): boolean {
    const isCutShort = limit > 0 && deliveries.length === limit
    const counts = new Map<IntegrationId, number>(behind.map((id) => [id, 0]))
    for (const { integration } of deliveries) counts.set(integration.id, (counts.get(integration.id) ?? 0) + 1)
    for (const [id, count] of counts) {
      const line = this.lines.get(id)
      const isBehind = isCutShort || count >= (limits.get(id) ?? limitPerIntegration)
      if (line !== undefined) this.setBehind(line, isBehind)
    }
    return isCutShort
  }

  /** How many to claim at once, so that what is kept for others stays free. */
  claimLimit(most: number): number {
    const common = this.common - this.heldTotal
    return Math.min(this.room, most, common > 0 ? common : most)
  }

  /** Whether something that is known to wait in the store should be claimed now. */
  get needsRefill(): boolean {
    if (this.behindLines.size === 0 || this.room === 0) return false
    for (const line of this.behindLines) {
      const limit = this.limitOf(line)
      if (line.held < limit && line.queued <= limit / 4) return true
    }
    return false
  }

  private fits(line: Line): boolean {
    return this.room > 0 && !line.isBehind && line.held < this.limitOf(line)
  }

  /** An urgent delivery overtakes the backlog of its own integration, too, and has room of its own. */
  private fitsUrgent(line: Line): boolean {
    const { buffer, concurrencyPerIntegration, queueBytes } = this.options
    const isFull = this.heldTotal >= buffer || this.heldBytes >= queueBytes
    return !isFull && line.held < line.depth + concurrencyPerIntegration
  }

  private limitOf({ depth, isSlow }: Line): number {
    return Math.min(depth, isSlow ? this.shareOfSlow : this.shareOfOthers)
  }

  /** An equal share of what slow integrations leave, once half of the common room is used; once all is, what places need. */
  private get shareOfOthers(): number {
    if (2 * this.heldTotal < this.common) return this.depth
    const others = this.lines.size - this.slowCount
    const equalShare = (room: number): number => Math.max(1, Math.floor((room - this.heldSlow) / (others + 1)))
    return this.heldTotal < this.common ? equalShare(this.common) : Math.min(this.minimum, equalShare(this.ordinary))
  }

  private get shareOfSlow(): number {
    return Math.max(1, Math.floor(this.ordinary / 2 / Math.max(1, this.slowCount)))
  }

  private lineOf(id: IntegrationId): Line {
    const known = this.lines.get(id)
    if (known !== undefined) return known
    const line: Line = {
      id,
      queues: [],
      isOffered: [false, false, false, false],
      held: 0,
      queued: 0,
      open: 0,
      depth: this.depth,
      isBehind: false,
      isSlow: false,
      readyAt: 0
    }
    this.lines.set(id, line)
    return line
  }

  private hold(line: Line, bytes: number): void {
    line.held++
    this.heldTotal++
    this.heldBytes += bytes
    if (line.isSlow) this.heldSlow++
  }

  private drop(line: Line, bytes: number): void {
    line.held--
    this.heldTotal--
    this.heldBytes -= bytes
    if (line.isSlow) this.heldSlow--
    this.forgetIfIdle(line)
  }

  private setBehind(line: Line, isBehind: boolean): void {
    line.isBehind = isBehind
    if (isBehind) this.behindLines.add(line)
    else this.behindLines.delete(line)
    this.forgetIfIdle(line)
  }

  private forgetIfIdle(line: Line): void {
    if (line.held > 0 || line.isBehind || this.pausedLines.has(line)) return
    this.lines.delete(line.id)
    if (line.isSlow) this.slowCount--
  }

  /** Says whether it has become slow by it. */
  private setSlow(line: Line, isSlow: boolean): boolean {
    if (line.isSlow === isSlow) return false
    const sign = isSlow ? 1 : -1
    line.isSlow = isSlow
    this.slowCount += sign
    this.heldSlow += sign * line.held
    this.openSlow += sign * line.open
    for (const lane of lanes) {
      if (!line.isOffered[lane]) continue
      this.turns[lane].delete(line)
      this.slowTurns[lane].delete(line)
      line.isOffered[lane] = false
    }
    return isSlow
  }

  /** Slow integrations leave half of all places to others; what is urgent uses any. */
  private firstSlow(lane: Lane): Line | undefined {
    return isUrgentLane(lane) || this.openSlow < this.halfOfPlaces ? firstOf(this.slowTurns[lane]) : undefined
  }

  private take(line: Line, lane: Lane): LeasedDelivery | undefined {
    const delivery = line.queues[lane]?.shift()
    if (delivery === undefined) return undefined
    // It was given more while there is more: its limit grows again.
    if (line.queued === 1 && line.isBehind) line.depth = Math.min(this.depth, 2 * line.depth)
    line.queued--
    this.queuedTotal--
    line.open++
    this.openTotal++
    if (line.isSlow) this.openSlow++
    if (isRetryLane(lane)) this.openRetries++
    // To the end of its turn.
    ;(line.isSlow ? this.slowTurns : this.turns)[lane].delete(line)
    line.isOffered[lane] = false
    this.offer(line)
    return delivery
  }

  private extract(line: Line, test: (delivery: LeasedDelivery) => boolean): ReadonlyArray<LeasedDelivery> {
    const removed: Array<LeasedDelivery> = []
    for (const waiting of line.queues) if (waiting !== undefined && waiting.size > 0) waiting.extract(test, removed)
    line.queued -= removed.length
    this.queuedTotal -= removed.length
    this.offer(line)
    for (const { event } of removed) this.drop(line, event.data.length)
    return removed
  }

  /** Takes out what is held of a line beyond its limit. */
  private extractSurplus(line: Line): ReadonlyArray<LeasedDelivery> {
    let staying = Math.max(0, this.limitOf(line) - line.open)
    const surplus = this.extract(line, () => staying-- <= 0)
    if (surplus.length > 0) this.setBehind(line, true)
    return surplus
  }

  private offer(line: Line): void {
    for (const lane of lanes) this.offerLane(line, lane)
  }

  /** Gives a line its turn in a lane, or takes it out. */
  private offerLane(line: Line, lane: Lane): void {
    const waiting = line.queues[lane]
    const isReady =
      waiting !== undefined &&
      waiting.size > 0 &&
      !this.pausedLines.has(line) &&
      line.open < placesFor(lane, this.placesTo(line.id))
    if (isReady === line.isOffered[lane]) return
    line.isOffered[lane] = isReady
    const turns = (line.isSlow ? this.slowTurns : this.turns)[lane]
    if (isReady) turns.add(line)
    else turns.delete(line)
  }
}
