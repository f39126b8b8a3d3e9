/**
 * The order in which held deliveries are sent, and the places they are sent from.
 *
 * Lanes go before each other by urgency; within a lane the integrations take turns; each integration has so many places
 * and no more. Some of its places, and of all places, are kept for what is urgent; retries together never take more than
 * half of all, nor do integrations whose attempts take long. So neither a backlog, nor a receiver that answers late or nothing,
 * nor a hundred of them, hold up what is urgent or healthy.
 */
import type { Lane, LeasedDelivery } from "../../domain/Delivery.ts"
import { isRetryLane, isUrgentLane, lanes, placesFor } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import type { Roll } from "../../ports/DeliveryStore.ts"
import { alone, shareOf } from "./Shares.ts"

/** What waits of an integration, and what is open to it. */
interface Line {
  readonly queues: Readonly<Record<Lane, Array<LeasedDelivery>>>
  queued: number
  open: number
  /** The last attempt that says something of its pace took long. */
  slow: boolean
}

export interface TurnsOptions {
  /** The most requests open at once. */
  readonly concurrency: number
  /** The most requests open at once to one integration. */
  readonly concurrencyPerIntegration: number
}

export class Turns {
  private readonly lines = new Map<IntegrationId, Line>()
  /** For each lane, the integrations that have something in it and a free place, in turn. */
  private readonly turns = noTurns()
  /** The same for those that are slow: they have their turns after the others. */
  private readonly slowTurns = noTurns()
  private readonly options: TurnsOptions
  private openTotal = 0
  private openRetries = 0
  /** Requests open to integrations that are slow. */
  private openSlow = 0
  private queuedTotal = 0
  private roll: Roll = alone

  constructor(options: TurnsOptions) {
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

  /** Requests open now to an integration. */
  openTo(id: IntegrationId): number {
    return this.lines.get(id)?.open ?? 0
  }

  /** The integrations of which something waits or is open. */
  get integrations(): ReadonlyArray<IntegrationId> {
    return [...this.lines.keys()]
  }

  /** Shares the places of each integration with other workers from now on. */
  share(roll: Roll): void {
    this.roll = roll
    for (const [id, line] of this.lines) this.offer(id, line)
  }

  /** A delivery waits from now on, of an integration that is slow or not. */
  add(delivery: LeasedDelivery, slow: boolean): void {
    const { id } = delivery.integration
    const line = this.lines.get(id) ?? { queues: { 0: [], 1: [], 2: [], 3: [] }, queued: 0, open: 0, slow }
    this.lines.set(id, line)
    line.queues[delivery.lane].push(delivery)
    line.queued++
    this.queuedTotal++
    this.offer(id, line)
  }

  /** The next delivery to send, of all or of those that are urgent, its place taken; undefined when there is none now. */
  next(which: "urgent" | "all"): LeasedDelivery | undefined {
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

  /** Its attempt is over, or was not made: its place is free. `slow` says what it shows of its integration, if anything. */
  finish({ integration, lane }: LeasedDelivery, slow: boolean | null): void {
    const line = this.lines.get(integration.id)
    if (line === undefined) return
    if (slow !== null && slow !== line.slow) {
      line.slow = slow
      this.openSlow += slow ? line.open : -line.open
    }
    line.open--
    this.openTotal--
    if (line.slow) this.openSlow--
    if (isRetryLane(lane)) this.openRetries--
    this.offer(integration.id, line)
    this.forgetIfIdle(integration.id, line)
  }

  /** Whether anything that waits passes a test. */
  some(test: (delivery: LeasedDelivery) => boolean): boolean {
    for (const { queues } of this.lines.values()) {
      for (const lane of lanes) if (queues[lane].some(test)) return true
    }
    return false
  }

  /** Takes out what waits for an integration and passes a test. */
  remove(id: IntegrationId, test: (delivery: LeasedDelivery) => boolean): ReadonlyArray<LeasedDelivery> {
    const line = this.lines.get(id)
    if (line === undefined) return []
    const removed: Array<LeasedDelivery> = []
    for (const lane of lanes) {
      const queue = line.queues[lane]
      const staying: Array<LeasedDelivery> = []
      for (const delivery of queue) (test(delivery) ? removed : staying).push(delivery)
      queue.splice(0, queue.length, ...staying)
    }
    line.queued -= removed.length
    this.queuedTotal -= removed.length
    this.offer(id, line)
    this.forgetIfIdle(id, line)
    return removed
  }

  private forgetIfIdle(id: IntegrationId, line: Line): void {
    if (line.queued === 0 && line.open === 0) this.lines.delete(id)
  }

  /** The places that retries may use, and those that slow integrations may. */
  private get halfOfPlaces(): number {
    return Math.max(1, Math.floor(this.options.concurrency / 2))
  }

  /** Slow integrations leave half of all places to others; what is urgent uses any. */
  private firstSlow(lane: Lane): IntegrationId | undefined {
    return isUrgentLane(lane) || this.openSlow < this.halfOfPlaces ? firstOf(this.slowTurns[lane]) : undefined
  }

  private take(id: IntegrationId, lane: Lane): LeasedDelivery | undefined {
    const line = this.lines.get(id)
    const delivery = line?.queues[lane].shift()
    if (line === undefined || delivery === undefined) return undefined
    // To the end of its turn.
    ;(line.slow ? this.slowTurns : this.turns)[lane].delete(id)
    line.queued--
    this.queuedTotal--
    line.open++
    this.openTotal++
    if (line.slow) this.openSlow++
    if (isRetryLane(lane)) this.openRetries++
    this.offer(id, line)
    return delivery
  }

  private offer(id: IntegrationId, line: Line): void {
    const places = shareOf(this.options.concurrencyPerIntegration, id, this.roll)
    const [own, other] = line.slow ? [this.slowTurns, this.turns] : [this.turns, this.slowTurns]
    for (const lane of lanes) {
      const hasPlace = line.open < placesFor(lane, places)
      other[lane].delete(id)
      if (hasPlace && line.queues[lane].length > 0) own[lane].add(id)
      else own[lane].delete(id)
    }
  }
}

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
