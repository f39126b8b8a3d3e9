/**
 * The queue of deliveries that a dispatcher holds in memory. All other deliveries wait in the store.
 *
 * - *Order*: the most urgent lane first. In a lane, integrations take turns, and slow ones follow the others.
 * - *Concurrency* is limited per integration and in total. A fifth of each limit is only for urgent deliveries. Retries
 *   use at most half of the total, and so do slow integrations. A rate limit delays an integration's next request.
 * - *Memory*: an integration has at most an eighth of the queue and a quarter of the free room; a slow or rate-limited
 *   one at most twice its concurrency. Its other deliveries wait in the store. Slow integrations together have at most
 *   half. The last eighth, up to the concurrency, is only for urgent deliveries, which may exceed the limit of their
 *   integration.
 */
import type { Lane, LeasedDelivery } from "../model/Delivery.ts"
import { isEarly, isRetryLane, isUrgentLane, lanes, concurrencyFor } from "../model/Delivery.ts"
import type { IntegrationId } from "../model/Ids.ts"
import { bytesOf } from "../model/JsonText.ts"
import type { ClaimLimits, Membership } from "../ports/DeliveryStore.ts"
import { queuedPerRequest, rateSlack } from "./EngineConstants.ts"

export interface FairQueueOptions {
  /** Maximum number of requests in flight. */
  readonly concurrency: number
  /** Maximum number of requests in flight to one integration, over all workers. */
  readonly concurrencyPerIntegration: number
  /** Maximum number of deliveries in memory. */
  readonly buffer: number
  /** Maximum size of the event data in memory, in bytes. */
  readonly queueBytes: number
}

/**
 * Pace of a receiver in one attempt: prompt, slow (with any outcome), or unknown (null, for example after a prompt
 * failure).
 */
export type LatencyClass = "prompt" | "slow" | null

/** This worker's position among the workers that share the concurrency of each integration. */
export type Share = Pick<Membership, "workers" | "rank">

/**
 * Returns this worker's equal part of an integration's concurrency. The remainder goes to some of the workers, beginning
 * with a different one for each integration. The minimum is 1, even with more workers than that, because a worker with 0
 * would hold deliveries that it never sends.
 */
export const concurrencyOf = (concurrency: number, integration: IntegrationId, { rank, workers }: Share): number =>
  Math.max(1, Math.floor(concurrency / workers) + ((rank + integration) % workers < concurrency % workers ? 1 : 0))

/** Limits of a claim. `limits` contains the integrations that have deliveries in memory. */
export interface ClaimDemand extends ClaimLimits {
  readonly urgent: ClaimLimits
  /** Integrations with more deliveries in the store. */
  readonly behind: ReadonlyArray<IntegrationId>
}

/** Returns how many deliveries count in an integration's limit: all in memory but early retries. */
const countedOf = ({ earlyInMemory, inMemory }: Backlog): number => inMemory - earlyInMemory

/** Returns when an integration's rate limit allows the next request: after one interval at most, even if the clock was set back. */
const readyOf = ({ interval, readyAt }: Backlog, now: number): number => Math.min(readyAt, now + interval)

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

/** The deliveries of one integration in the queue. */
interface Backlog {
  readonly id: IntegrationId
  /** A queue for each lane used so far. */
  readonly queues: [Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?, Fifo<LeasedDelivery>?]
  /** For each lane, whether the backlog is in `turns` or `slowTurns`. */
  readonly isOffered: [boolean, boolean, boolean, boolean]
  /** Number of deliveries in memory: reserved, queued or in flight. */
  inMemory: number
  /** Number of early retries in memory. */
  earlyInMemory: number
  queued: number
  inFlight: number
  /** Maximum number of counted deliveries: many for a fast receiver, few for a slow one. */
  depth: number
  /** Whether older deliveries wait in the store. New ones then queue behind them. */
  isBehind: boolean
  /** Whether the last attempt with a known pace was slow. */
  isSlow: boolean
  /** When the rate limit or a pause allows the next request, in milliseconds since the epoch. */
  readyAt: number
  /** Longest time until `readyAt`: the rate limit's time between two requests, or a pause. In milliseconds. */
  interval: number
}

type Turns = Readonly<Record<Lane, Set<Backlog>>>

const makeTurns = (): Turns => ({ 0: new Set(), 1: new Set(), 2: new Set(), 3: new Set() })

const firstOf = <A>(set: ReadonlySet<A>): A | undefined => {
  for (const item of set) return item
  return undefined
}

export class FairQueue {
  private readonly options: FairQueueOptions
  private readonly backlogs = new Map<IntegrationId, Backlog>()
  /** Backlogs with more deliveries in the store. */
  private readonly behindBacklogs = new Set<Backlog>()
  /** For each lane, the backlogs with a delivery in it that may be sent now, in sending order. */
  private readonly turns = makeTurns()
  /** Backlogs that wait for their rate limits or pauses. */
  private readonly pausedBacklogs = new Set<Backlog>()
  /** Like `turns`, for slow backlogs, which get their turns after the others. */
  private readonly slowTurns = makeTurns()
  private share: Share = { workers: 1, rank: 0 }
  private totalInMemory = 0
  private bytesInMemory = 0
  private queuedTotal = 0
  private inFlightTotal = 0
  private retriesInFlight = 0
  private slowInFlight = 0
  private slowCount = 0
  /** Limits for deliveries that are not urgent. */
  private readonly ordinary: number
  private readonly ordinaryBytes: number
  private readonly halfOfConcurrency: number
  /** Maximum number of counted deliveries of one integration if there is a single worker. */
  private readonly depthAlone: number
  /** Maximum number of counted deliveries of one integration. */
  private depth: number
  /** Smallest `depth`: that of a slow integration. */
  private readonly minDepth: number

  constructor(options: FairQueueOptions) {
    this.options = options
    const { buffer, concurrency, concurrencyPerIntegration } = options
    this.ordinary = buffer - Math.min(concurrency, Math.floor(buffer / 8))
    this.ordinaryBytes = options.queueBytes - Math.floor(options.queueBytes / 8)
    this.minDepth = 2 * concurrencyPerIntegration
    this.depthAlone = Math.max(this.minDepth, Math.floor(buffer / 8))
    this.depth = this.depthAlone
    this.halfOfConcurrency = Math.max(1, Math.floor(concurrency / 2))
  }

  /** Number of requests in flight. */
  get inFlight(): number {
    return this.inFlightTotal
  }

  /** Number of queued deliveries: in memory, and not reserved or in flight. */
  get queued(): number {
    return this.queuedTotal
  }

  /** Number of deliveries in memory: reserved, queued or in flight. */
  get inMemory(): number {
    return this.totalInMemory
  }

  /** Number of further deliveries that can be claimed. */
  get room(): number {
    return this.bytesInMemory < this.ordinaryBytes ? Math.max(0, this.ordinary - this.totalInMemory) : 0
  }

  /**
   * Shares the concurrency of each integration with other workers from now on. Removes and returns the deliveries beyond the
   * new limits. The caller releases them so that other workers can claim them.
   */
  shareWith(share: Share): ReadonlyArray<LeasedDelivery> {
    const concurrency = Math.ceil(this.options.concurrencyPerIntegration / share.workers)
    const most = share.workers === 1 ? this.depthAlone : Math.max(this.minDepth, queuedPerRequest * concurrency)
    this.share = share
    this.depth = Math.min(this.depthAlone, most)
    return [...this.backlogs.values()].flatMap((backlog) => {
      const isTooDeep = backlog.depth > this.depth
      if (isTooDeep) backlog.depth = this.depth
      const surplus = isTooDeep ? this.extractSurplus(backlog) : []
      this.offer(backlog)
      return surplus
    })
  }

  /** Returns how many requests of this worker to an integration may be in flight. */
  concurrencyTo(id: IntegrationId): number {
    return concurrencyOf(this.options.concurrencyPerIntegration, id, this.share)
  }

  /** Reserves room for a delivery that is about to be stored; false if it should wait in the store instead. */
  reserve(id: IntegrationId, lane: Lane, bytes: number): boolean {
    const backlog = this.backlogOf(id)
    if (isUrgentLane(lane) ? this.fitsUrgent(backlog) : this.fits(backlog)) {
      this.hold(backlog, bytes)
      return true
    }
    this.setBehind(backlog, true)
    return false
  }

  /** Gives up a reservation. */
  unreserve(id: IntegrationId, bytes: number): void {
    const backlog = this.backlogs.get(id)
    if (backlog !== undefined) this.drop(backlog, bytes)
  }

  /** Queues a delivery that is leased to this worker. */
  add(delivery: LeasedDelivery): void {
    const backlog = this.backlogOf(delivery.integration.id)
    this.hold(backlog, bytesOf(delivery.event.data))
    if (isEarly(delivery)) backlog.earlyInMemory++
    const waiting = (backlog.queues[delivery.lane] ??= new Fifo())
    waiting.push(delivery)
    backlog.queued++
    this.queuedTotal++
    this.offerLane(backlog, delivery.lane)
  }

  /** Takes the next delivery to send, which is then in flight; undefined if none can be sent now. */
  next(which: "urgent" | "all" = "all"): LeasedDelivery | undefined {
    for (const lane of lanes) {
      if (which === "urgent" && !isUrgentLane(lane)) return undefined
      if (this.inFlightTotal >= concurrencyFor(lane, this.options.concurrency)) return undefined
      if (isRetryLane(lane) && this.retriesInFlight >= this.halfOfConcurrency) continue
      const backlog = firstOf(this.turns[lane]) ?? this.firstSlow(lane)
      const delivery = backlog === undefined ? undefined : this.take(backlog, lane)
      if (delivery !== undefined) return delivery
    }
    return undefined
  }

  /**
   * Notes that a delivery is no longer in flight. After a slow attempt, removes and returns the deliveries beyond the
   * lower limit. The caller releases them.
   */
  finish(delivery: LeasedDelivery, latencyClass: LatencyClass): ReadonlyArray<LeasedDelivery> {
    const backlog = this.backlogs.get(delivery.integration.id)
    if (backlog === undefined) return []
    const hasSlowed = latencyClass !== null && this.setSlow(backlog, latencyClass === "slow")
    backlog.inFlight--
    this.inFlightTotal--
    if (backlog.isSlow) this.slowInFlight--
    if (isRetryLane(delivery.lane)) this.retriesInFlight--
    this.offer(backlog)
    if (hasSlowed) backlog.depth = this.minDepth
    const surplus = latencyClass === "slow" ? this.extractSurplus(backlog) : []
    this.remove(backlog, delivery)
    return surplus
  }

  /**
   * Notes the start of a delivery. If the integration has a rate limit, its next delivery waits accordingly. To keep
   * room for calls, removes and returns deliveries that can't be sent soon. The caller releases them.
   */
  pace({ integration: { id, overrides } }: LeasedDelivery, now: number): ReadonlyArray<LeasedDelivery> {
    const backlog = this.backlogs.get(id)
    const { requests_per_second } = overrides
    if (requests_per_second === undefined || backlog === undefined) return []
    backlog.interval = (1_000 * this.share.workers) / requests_per_second
    // `readyAt` is later than now only if the clock was set back.
    backlog.readyAt = Math.max(Math.min(backlog.readyAt, now), now - rateSlack) + backlog.interval
    const isTooDeep = backlog.depth > this.minDepth
    if (isTooDeep) backlog.depth = this.minDepth
    if (backlog.readyAt > now) this.pausedBacklogs.add(backlog)
    this.offer(backlog)
    return isTooDeep ? this.extractSurplus(backlog) : []
  }

  /** Sends nothing to an integration for some milliseconds. */
  pause(id: IntegrationId, now: number, millis: number): void {
    const backlog = this.backlogOf(id)
    backlog.interval = Math.max(backlog.interval, millis)
    backlog.readyAt = Math.max(readyOf(backlog, now), now + millis)
    this.pausedBacklogs.add(backlog)
    this.offer(backlog)
  }

  /** When the first integration that waits for its rate limit or pause may send again; null if none waits. */
  resumesAt(now: number): number | null {
    let first: number | null = null
    for (const backlog of this.pausedBacklogs) {
      const readyAt = readyOf(backlog, now)
      if (first === null || readyAt < first) first = readyAt
    }
    return first
  }

  /** Resumes the integrations whose rate limits allow another request. */
  resume(now: number): void {
    for (const backlog of this.pausedBacklogs) {
      backlog.readyAt = readyOf(backlog, now)
      if (backlog.readyAt > now) continue
      this.pausedBacklogs.delete(backlog)
      this.offer(backlog)
      this.forgetIfIdle(backlog)
    }
  }

  /** Whether any queued delivery passes the test. */
  some(test: (delivery: LeasedDelivery) => boolean): boolean {
    for (const { queues } of this.backlogs.values())
      for (const waiting of queues) if (waiting?.some(test) === true) return true
    return false
  }

  /** Removes the queued deliveries of an integration that pass the test. The caller releases them. */
  removeOf(id: IntegrationId, test: (delivery: LeasedDelivery) => boolean = () => true): ReadonlyArray<LeasedDelivery> {
    const backlog = this.backlogs.get(id)
    return backlog === undefined ? [] : this.extract(backlog, test)
  }

  /** Removes the queued deliveries that pass the test. The caller releases them. */
  removeIf(test: (delivery: LeasedDelivery) => boolean): ReadonlyArray<LeasedDelivery> {
    return [...this.backlogs.values()].flatMap((backlog) => this.extract(backlog, test))
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
    for (const backlog of this.backlogs.values()) {
      const limit = this.limitOf(backlog)
      limits.set(backlog.id, backlog.queued > limit / 4 ? 0 : Math.max(0, limit - countedOf(backlog)))
      const urgent = this.urgentRoomOf(backlog)
      if (urgent < concurrencyPerIntegration) urgentLimits.set(backlog.id, Math.max(0, urgent))
    }
    return {
      limit: this.claimLimit(most),
      limitPerIntegration: Math.min(this.depth, this.shareOfRoom),
      limits,
      urgent: {
        limit: Math.min(most, this.urgentRoom),
        limitPerIntegration: concurrencyPerIntegration,
        limits: urgentLimits
      },
      behind: Array.from(this.behindBacklogs, ({ id }) => id)
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
      const backlog = this.backlogs.get(id)
      const most = limits.get(id) ?? limitPerIntegration
      if (count > most && count >= (urgent.limits.get(id) ?? urgent.limitPerIntegration)) hasMoreUrgent = true
      // With a limit of 0, the claim took only urgent deliveries, which says nothing about the others.
      if (backlog === undefined || (most === 0 && !backlog.isBehind)) continue
      this.setBehind(backlog, isCutShort || count >= most)
    }
    return isCutShort || hasMoreUrgent
  }

  /** Returns how many deliveries can be claimed. */
  claimLimit(most: number): number {
    return Math.min(this.room, most)
  }

  /** Whether some integration needs more of its stored deliveries in memory now. */
  get needsRefill(): boolean {
    if (this.behindBacklogs.size === 0 || this.room === 0) return false
    for (const backlog of this.behindBacklogs) {
      const limit = this.limitOf(backlog)
      if (countedOf(backlog) < limit && backlog.queued <= limit / 4) return true
    }
    return false
  }

  private fits(backlog: Backlog): boolean {
    return this.room > 0 && !backlog.isBehind && countedOf(backlog) < this.limitOf(backlog)
  }

  /** Whether an urgent delivery fits. It may overtake its integration's backlog and use reserved room. */
  private fitsUrgent(backlog: Backlog): boolean {
    return this.urgentRoom > 0 && this.urgentRoomOf(backlog) > 0
  }

  /** Number of further urgent deliveries that fit. */
  private get urgentRoom(): number {
    const { buffer, queueBytes } = this.options
    return this.bytesInMemory < queueBytes ? Math.max(0, buffer - this.totalInMemory) : 0
  }

  /** Returns how many more urgent deliveries of an integration fit in memory; 0 or less if none. */
  private urgentRoomOf(backlog: Backlog): number {
    return backlog.depth + this.options.concurrencyPerIntegration - countedOf(backlog)
  }

  private limitOf({ depth, isSlow }: Backlog): number {
    return Math.min(depth, isSlow ? this.shareOfSlow : this.shareOfRoom)
  }

  /**
   * The more integrations have deliveries in memory, the less room is free, so the less each may have. The last quarter of
   * the queue counts only for integrations with less than twice their concurrency in memory.
   */
  private get shareOfRoom(): number {
    const lastQuarter = Math.floor(this.options.buffer / 4)
    return Math.max(1, Math.ceil((this.room - lastQuarter) / 4), Math.min(this.minDepth, Math.ceil(this.room / 4)))
  }

  private get shareOfSlow(): number {
    return Math.max(1, Math.floor(this.ordinary / 2 / Math.max(1, this.slowCount)))
  }

  private backlogOf(id: IntegrationId): Backlog {
    const known = this.backlogs.get(id)
    if (known !== undefined) return known
    const backlog: Backlog = {
      id,
      queues: [],
      isOffered: [false, false, false, false],
      inMemory: 0,
      earlyInMemory: 0,
      queued: 0,
      inFlight: 0,
      depth: this.depth,
      isBehind: false,
      isSlow: false,
      readyAt: 0,
      interval: 0
    }
    this.backlogs.set(id, backlog)
    return backlog
  }

  private hold(backlog: Backlog, bytes: number): void {
    backlog.inMemory++
    this.totalInMemory++
    this.bytesInMemory += bytes
  }

  private drop(backlog: Backlog, bytes: number): void {
    backlog.inMemory--
    this.totalInMemory--
    this.bytesInMemory -= bytes
    this.forgetIfIdle(backlog)
  }

  private remove(backlog: Backlog, delivery: LeasedDelivery): void {
    if (isEarly(delivery)) backlog.earlyInMemory--
    this.drop(backlog, bytesOf(delivery.event.data))
  }

  private setBehind(backlog: Backlog, isBehind: boolean): void {
    backlog.isBehind = isBehind
    if (isBehind) this.behindBacklogs.add(backlog)
    else this.behindBacklogs.delete(backlog)
    this.forgetIfIdle(backlog)
  }

  private forgetIfIdle(backlog: Backlog): void {
    if (backlog.inMemory > 0 || backlog.isBehind || this.pausedBacklogs.has(backlog)) return
    this.backlogs.delete(backlog.id)
    if (backlog.isSlow) this.slowCount--
  }

  /** Updates whether a backlog is slow. Returns true if it has just become slow. */
  private setSlow(backlog: Backlog, isSlow: boolean): boolean {
    if (backlog.isSlow === isSlow) return false
    const sign = isSlow ? 1 : -1
    backlog.isSlow = isSlow
    this.slowCount += sign
    this.slowInFlight += sign * backlog.inFlight
    for (const lane of lanes) {
      if (!backlog.isOffered[lane]) continue
      this.turns[lane].delete(backlog)
      this.slowTurns[lane].delete(backlog)
      backlog.isOffered[lane] = false
    }
    return isSlow
  }

  /** Returns the next slow backlog. Slow integrations use at most half of the concurrency, except for urgent deliveries. */
  private firstSlow(lane: Lane): Backlog | undefined {
    return isUrgentLane(lane) || this.slowInFlight < this.halfOfConcurrency ? firstOf(this.slowTurns[lane]) : undefined
  }

  private take(backlog: Backlog, lane: Lane): LeasedDelivery | undefined {
    const delivery = backlog.queues[lane]?.shift()
    if (delivery === undefined) return undefined
    // The backlog is almost empty and the store has more, so the backlog's limit grows.
    if (backlog.queued === 1 && backlog.isBehind) backlog.depth = Math.min(this.depth, 2 * backlog.depth)
    backlog.queued--
    this.queuedTotal--
    backlog.inFlight++
    this.inFlightTotal++
    if (backlog.isSlow) this.slowInFlight++
    if (isRetryLane(lane)) this.retriesInFlight++
    // Moves the backlog to the end of its turns.
    ;(backlog.isSlow ? this.slowTurns : this.turns)[lane].delete(backlog)
    backlog.isOffered[lane] = false
    this.offer(backlog)
    return delivery
  }

  private extract(backlog: Backlog, test: (delivery: LeasedDelivery) => boolean): ReadonlyArray<LeasedDelivery> {
    const removed: Array<LeasedDelivery> = []
    for (const waiting of backlog.queues) if (waiting !== undefined && waiting.size > 0) waiting.extract(test, removed)
    backlog.queued -= removed.length
    this.queuedTotal -= removed.length
    this.offer(backlog)
    for (const delivery of removed) this.remove(backlog, delivery)
    return removed
  }

  /** Removes the deliveries of a backlog beyond its limit, except early retries. */
  private extractSurplus(backlog: Backlog): ReadonlyArray<LeasedDelivery> {
    let staying = Math.max(0, this.limitOf(backlog) - backlog.inFlight)
    const surplus = this.extract(backlog, (delivery) => !isEarly(delivery) && staying-- <= 0)
    // The queue has forgotten a backlog without deliveries.
    if (surplus.length > 0) this.setBehind(this.backlogOf(backlog.id), true)
    return surplus
  }

  private offer(backlog: Backlog): void {
    for (const lane of lanes) this.offerLane(backlog, lane)
  }

  /** Adds a backlog to the turns of a lane if the backlog can send, otherwise removes it. */
  private offerLane(backlog: Backlog, lane: Lane): void {
    const waiting = backlog.queues[lane]
    const isReady =
      waiting !== undefined &&
      waiting.size > 0 &&
      !this.pausedBacklogs.has(backlog) &&
      backlog.inFlight < concurrencyFor(lane, this.concurrencyTo(backlog.id))
    if (isReady === backlog.isOffered[lane]) return
    backlog.isOffered[lane] = isReady
    const turns = (backlog.isSlow ? this.slowTurns : this.turns)[lane]
    if (isReady) turns.add(backlog)
    else turns.delete(backlog)
  }
}
