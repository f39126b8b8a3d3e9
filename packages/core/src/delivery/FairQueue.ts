/**
 * The queue of deliveries that a dispatcher holds in memory. It limits the deliveries per integration and decides the
 * sending order.
 *
 * The most urgent lane is sent first. Within a lane, integrations take turns. Each integration has a limited number of
 * places, that is, concurrent requests. A fifth of its places, and of all places, is reserved for urgent deliveries.
 * All retries together use at most half of all places, and so do all slow integrations. A backlog or many dead
 * receivers therefore don't delay urgent deliveries or healthy integrations.
 *
 * The queue is limited by count and by the size of the events. An eighth of it is reserved for urgent deliveries, but
 * no more deliveries than `concurrency`. A quarter is reserved for integrations that hold too few deliveries to keep
 * their places busy. The limit for one integration depends on the situation:
 * - in general, an eighth of the queue;
 * - once half of the room without these reservations is used, an equal share;
 * - if the integration is slow, enough to keep its places busy;
 * - if other workers share the store, as many as this worker can soon send to it.
 *
 * Further deliveries wait in the store and are claimed later. Urgent deliveries may exceed the limit of their
 * integration by as many as it has places, and use all reserved room. Early retries don't count in that limit, because
 * the catch-up limits them (`IntegrationHealth`).
 *
 * An integration with a rate limit (`requests_per_second`) gets no turn until its next request may start.
 *
 * Plain state without timers or I/O; never fails.
 */
import type { Lane, LeasedDelivery } from "../model/Delivery.ts"
import { isEarly, isRetryLane, isUrgentLane, lanes, placesFor } from "../model/Delivery.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { ClaimLimits, Membership } from "../ports/DeliveryStore.ts"

export interface FairQueueOptions {
  /** Maximum number of open requests. */
  readonly concurrency: number
  /** Maximum number of open requests to one integration, over all workers. */
  readonly concurrencyPerIntegration: number
  /** Maximum number of held deliveries. */
  readonly buffer: number
  /** Maximum size of the held event data, in characters. */
  readonly queueBytes: number
}

/**
 * Pace of a receiver in one attempt: prompt, slow (with any outcome), or unknown (null, for example after a prompt
 * failure).
 */
export type LatencyClass = "prompt" | "slow" | null

/** This worker's position among the workers that share the places of each integration. */
export type Share = Pick<Membership, "workers" | "rank">

/**
 * Returns this worker's equal part of an integration's places. Each place left over goes to one worker, starting at a
 * different worker for each integration. The minimum is one place, even with more workers than places, because a worker
 * without a place would hold deliveries that it never sends.
 */
export const placesOf = (places: number, integration: IntegrationId, { rank, workers }: Share): number =>
  Math.max(1, Math.floor(places / workers) + ((rank + integration) % workers < places % workers ? 1 : 0))

/** Limits of a claim. `limits` contains the integrations that have held deliveries. */
export interface ClaimDemand extends ClaimLimits {
  readonly urgent: ClaimLimits
  /** Integrations with more deliveries in the store. */
  readonly behind: ReadonlyArray<IntegrationId>
}

/** Maximum number of held deliveries per place of an integration, when other workers share the store. */
const besideOthers = 16

/**
 * A start that is at most this late, in milliseconds, does not delay the next one under a rate limit: timers are not
 * exact.
 */
const rateSlack = 50

/** Returns how many held deliveries count in an integration's limit. */
const countedOf = ({ early, held }: Line): number => held - early

/** Returns when a line's rate limit allows the next request: after one interval at most, even if the clock was set back. */
const readyOf = ({ interval, readyAt }: Line, now: number): number => Math.min(readyAt, now + interval)

/** A first-in, first-out queue. Taking the first item rarely moves the others. */
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

  /** Moves the items that pass the test to `into`. */
  extract(test: (item: A) => boolean, into: Array<A>): void {
    const staying: Array<A> = []
    for (const item of this.items.slice(this.head)) (test(item) ? into : staying).push(item)
    this.items = staying
    this.head = 0
  }
}

/** The state of one integration. */
interface Line {
  readonly id: IntegrationId
  /** A queue for each lane used so far. */
  readonly queues: [Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?]
  /** For each lane, whether the line is in `turns` or `slowTurns`. */
  readonly isOffered: [boolean, boolean, boolean, boolean]
  /** Deliveries held: reserved, queued or open. */
  held: number
  /** Early retries held. */
  early: number
  queued: number
  open: number
  /** Maximum number of held deliveries that are not early: many for a fast receiver, few for a slow one. */
  depth: number
  /** Whether older deliveries wait in the store. New ones then queue behind them. */
  isBehind: boolean
  /** Whether the last attempt with a known pace was slow. */
  isSlow: boolean
  /** When the rate limit allows the next request, in milliseconds since the epoch; 0 without a limit. */
  readyAt: number
  /** Shortest time between two requests under the rate limit, in milliseconds; 0 without a limit. */
  interval: number
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
  /** Lines with more deliveries in the store. */
  private readonly behindLines = new Set<Line>()
  /** For each lane, the lines with a delivery in it and a free place, in sending order. */
  private readonly turns = noTurns()
  /** Lines that wait for their rate limits. */
  private readonly pausedLines = new Set<Line>()
  /** Like `turns`, for slow lines, which get their turns after the others. */
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
  /** Room for deliveries that are not urgent. */
  private readonly ordinary: number
  private readonly ordinaryBytes: number
  /** `ordinary` without the quarter of the queue that is reserved for integrations with few held deliveries. */
  private readonly common: number
  private readonly halfOfPlaces: number
  /** Maximum number of held deliveries of one integration if there is a single worker. */
  private readonly depthAlone: number
  /** Maximum number of held deliveries of one integration. */
  private depth: number
  /** Smallest `depth`: how many deliveries a slow integration may hold. */
  private readonly minDepth: number

  constructor(options: FairQueueOptions) {
    this.options = options
    const { buffer, concurrency, concurrencyPerIntegration } = options
    this.ordinary = buffer - Math.min(concurrency, Math.floor(buffer / 8))
    this.ordinaryBytes = options.queueBytes - Math.floor(options.queueBytes / 8)
    this.common = this.ordinary - Math.floor(buffer / 4)
    this.minDepth = 2 * concurrencyPerIntegration
    this.depthAlone = Math.max(this.minDepth, Math.floor(buffer / 8))
    this.depth = this.depthAlone
    this.halfOfPlaces = Math.max(1, Math.floor(concurrency / 2))
  }

  /** Number of open requests. */
  get open(): number {
    return this.openTotal
  }

  /** Number of deliveries that wait for a place. */
  get queued(): number {
    return this.queuedTotal
  }

  /** Deliveries held: reserved, queued or open. */
  get held(): number {
    return this.heldTotal
  }

  /** Number of further deliveries that can be claimed. */
  get room(): number {
    return this.heldBytes < this.ordinaryBytes ? Math.max(0, this.ordinary - this.heldTotal) : 0
  }

  /**
   * Shares the places of each integration with other workers from now on. Removes and returns the deliveries beyond the
   * new limits. The caller releases them so that other workers can claim them.
   */
  shareWith(share: Share): ReadonlyArray<LeasedDelivery> {
    const places = Math.ceil(this.options.concurrencyPerIntegration / share.workers)
    const most = share.workers === 1 ? this.depthAlone : Math.max(this.minDepth, besideOthers * places)
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

  /** Returns how many requests this worker may have open to an integration. */
  placesTo(id: IntegrationId): number {
    return placesOf(this.options.concurrencyPerIntegration, id, this.share)
  }

  /** Reserves room for a delivery that is about to be stored; false if it should wait in the store instead. */
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
    if (isEarly(delivery)) line.early++
    const waiting = (line.queues[delivery.lane] ??= new Fifo())
    waiting.push(delivery)
    line.queued++
    this.queuedTotal++
    this.offerLane(line, delivery.lane)
  }

  /** Takes the next delivery to send and occupies its place; undefined if none can be sent now. */
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
   * Frees the place of a delivery after its attempt, or without one. If this makes its integration slow, removes and
   * returns the deliveries beyond the lower limit. The caller releases them.
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
    if (hasSlowed) line.depth = this.minDepth
    const surplus = hasSlowed ? this.extractSurplus(line) : []
    this.remove(line, delivery)
    return surplus
  }

  /**
   * Notes the start of a delivery. If the integration has a rate limit, its next delivery waits accordingly. To keep
   * room for calls, removes and returns deliveries that can't be sent soon. The caller releases them.
   */
  pace({ integration: { id, overrides } }: LeasedDelivery, now: number): ReadonlyArray<LeasedDelivery> {
    const line = this.lines.get(id)
    const { requests_per_second } = overrides
    if (requests_per_second === undefined || line === undefined) return []
    line.interval = (1_000 * this.share.workers) / requests_per_second
    // `readyAt` is later than now only if the clock was set back.
    line.readyAt = Math.max(Math.min(line.readyAt, now), now - rateSlack) + line.interval
    const isTooDeep = line.depth > this.minDepth
    if (isTooDeep) line.depth = this.minDepth
    if (line.readyAt > now) this.pausedLines.add(line)
    this.offer(line)
    return isTooDeep ? this.extractSurplus(line) : []
  }

  /** Sends nothing to an integration for some milliseconds. */
  pause(id: IntegrationId, now: number, millis: number): void {
    const line = this.lineOf(id)
    line.interval = Math.max(line.interval, millis)
    line.readyAt = Math.max(readyOf(line, now), now + millis)
    this.pausedLines.add(line)
    this.offer(line)
  }

  /** When the first integration with queued deliveries may send again under its rate limit; null if none waits. */
  resumesAt(now: number): number | null {
    let first: number | null = null
    for (const line of this.pausedLines) {
      if (line.queued === 0) continue
      const readyAt = readyOf(line, now)
      if (first === null || readyAt < first) first = readyAt
    }
    return first
  }

  /** Resumes the integrations whose rate limits allow another request. */
  resume(now: number): void {
    for (const line of this.pausedLines) {
      line.readyAt = readyOf(line, now)
      if (line.readyAt > now) continue
      this.pausedLines.delete(line)
      this.offer(line)
      this.forgetIfIdle(line)
    }
  }

  /** Whether any queued delivery passes the test. */
  some(test: (delivery: LeasedDelivery) => boolean): boolean {
    for (const { queues } of this.lines.values())
      for (const waiting of queues) if (waiting?.some(test) === true) return true
    return false
  }

  /** Removes the queued deliveries of an integration that pass the test. The caller releases them. */
  removeOf(id: IntegrationId, test: (delivery: LeasedDelivery) => boolean = () => true): ReadonlyArray<LeasedDelivery> {
    const line = this.lines.get(id)
    return line === undefined ? [] : this.extract(line, test)
  }

  /** Removes the queued deliveries that pass the test. The caller releases them. */
  removeIf(test: (delivery: LeasedDelivery) => boolean): ReadonlyArray<LeasedDelivery> {
    return [...this.lines.values()].flatMap((line) => this.extract(line, test))
  }

  /** All queued deliveries. */
  waiting(): ReadonlyArray<LeasedDelivery> {
    const found: Array<LeasedDelivery> = []
    const note = (delivery: LeasedDelivery): boolean => {
      found.push(delivery)
      return false
    }
    this.some(note)
    return found
  }

  /**
   * Returns the limits of the next claim. An integration gets no more deliveries while over a quarter of its limit is
   * queued, except urgent ones.
   */
  demand(most: number): ClaimDemand {
    const { concurrencyPerIntegration } = this.options
    const limits = new Map<IntegrationId, number>()
    const urgentLimits = new Map<IntegrationId, number>()
    for (const line of this.lines.values()) {
      const limit = this.limitOf(line)
      limits.set(line.id, line.queued > limit / 4 ? 0 : Math.max(0, limit - countedOf(line)))
      const urgent = this.urgentRoomOf(line)
      if (urgent < concurrencyPerIntegration) urgentLimits.set(line.id, Math.max(0, urgent))
    }
    return {
      limit: this.claimLimit(most),
      limitPerIntegration: Math.min(this.depth, this.shareOfOthers),
      limits,
      urgent: {
        limit: Math.min(most, this.urgentRoom),
        limitPerIntegration: concurrencyPerIntegration,
        limits: urgentLimits
      },
      behind: Array.from(this.behindLines, ({ id }) => id)
    }
  }

  /**
   * Updates which integrations have more deliveries in the store. Returns whether the claim reached its limit, or the
   * urgent limit of an integration.
   */
  claimed(demand: ClaimDemand, deliveries: ReadonlyArray<LeasedDelivery>): boolean {
    const { behind, limit, limitPerIntegration, limits, urgent } = demand
    const isCutShort = limit > 0 && deliveries.length >= limit
    let hasMoreUrgent = false
    const counts = new Map<IntegrationId, number>(behind.map((id) => [id, 0]))
    for (const { integration } of deliveries) counts.set(integration.id, (counts.get(integration.id) ?? 0) + 1)
    for (const [id, count] of counts) {
      const line = this.lines.get(id)
      const most = limits.get(id) ?? limitPerIntegration
      if (count > most && count >= (urgent.limits.get(id) ?? urgent.limitPerIntegration)) hasMoreUrgent = true
      // With a limit of 0, the claim took only urgent deliveries, which says nothing about the others.
      if (line === undefined || (most === 0 && !line.isBehind)) continue
      this.setBehind(line, isCutShort || count >= most)
    }
    return isCutShort || hasMoreUrgent
  }

  /**
   * Returns how many deliveries can be claimed. The room reserved for integrations with few held deliveries is used
   * last.
   */
  claimLimit(most: number): number {
    const common = this.common - this.heldTotal
    return Math.min(this.room, most, common > 0 ? common : most)
  }

  /** Whether some integration needs more of its stored deliveries in memory now. */
  get needsRefill(): boolean {
    if (this.behindLines.size === 0 || this.room === 0) return false
    for (const line of this.behindLines) {
      const limit = this.limitOf(line)
      if (countedOf(line) < limit && line.queued <= limit / 4) return true
    }
    return false
  }

  private fits(line: Line): boolean {
    return this.room > 0 && !line.isBehind && countedOf(line) < this.limitOf(line)
  }

  /** Whether an urgent delivery fits. It may overtake its integration's backlog and use reserved room. */
  private fitsUrgent(line: Line): boolean {
    return this.urgentRoom > 0 && this.urgentRoomOf(line) > 0
  }

  /** Number of further urgent deliveries that fit. */
  private get urgentRoom(): number {
    const { buffer, queueBytes } = this.options
    return this.heldBytes < queueBytes ? Math.max(0, buffer - this.heldTotal) : 0
  }

  /** Returns how many more urgent deliveries of an integration may be held; 0 or less if none. */
  private urgentRoomOf(line: Line): number {
    return line.depth + this.options.concurrencyPerIntegration - countedOf(line)
  }

  private limitOf({ depth, isSlow }: Line): number {
    return Math.min(depth, isSlow ? this.shareOfSlow : this.shareOfOthers)
  }

  /** Limit of an integration that is not slow: `depth` until half of the common room is used, then an equal share. */
  private get shareOfOthers(): number {
    if (2 * this.heldTotal < this.common) return this.depth
    const others = this.lines.size - this.slowCount
    const equalShare = (room: number): number => Math.max(1, Math.floor((room - this.heldSlow) / (others + 1)))
    return this.heldTotal < this.common ? equalShare(this.common) : Math.min(this.minDepth, equalShare(this.ordinary))
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
      early: 0,
      queued: 0,
      open: 0,
      depth: this.depth,
      isBehind: false,
      isSlow: false,
      readyAt: 0,
      interval: 0
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

  private remove(line: Line, delivery: LeasedDelivery): void {
    if (isEarly(delivery)) line.early--
    this.drop(line, delivery.event.data.length)
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

  /** Updates whether a line is slow. Returns true if it has just become slow. */
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

  /** Returns the next slow line. Slow integrations use at most half of all places, except for urgent deliveries. */
  private firstSlow(lane: Lane): Line | undefined {
    return isUrgentLane(lane) || this.openSlow < this.halfOfPlaces ? firstOf(this.slowTurns[lane]) : undefined
  }

  private take(line: Line, lane: Lane): LeasedDelivery | undefined {
    const delivery = line.queues[lane]?.shift()
    if (delivery === undefined) return undefined
    // The line is almost empty and the store has more, so the line's limit grows.
    if (line.queued === 1 && line.isBehind) line.depth = Math.min(this.depth, 2 * line.depth)
    line.queued--
    this.queuedTotal--
    line.open++
    this.openTotal++
    if (line.isSlow) this.openSlow++
    if (isRetryLane(lane)) this.openRetries++
    // Moves the line to the end of its turns.
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
    for (const delivery of removed) this.remove(line, delivery)
    return removed
  }

  /** Removes the deliveries of a line beyond its limit, except early retries. */
  private extractSurplus(line: Line): ReadonlyArray<LeasedDelivery> {
    let staying = Math.max(0, this.limitOf(line) - line.open)
    const surplus = this.extract(line, (delivery) => !isEarly(delivery) && staying-- <= 0)
    if (surplus.length > 0) this.setBehind(line, true)
    return surplus
  }

  private offer(line: Line): void {
    for (const lane of lanes) this.offerLane(line, lane)
  }

  /** Adds a line to the turns of a lane if the line can send, otherwise removes it. */
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
