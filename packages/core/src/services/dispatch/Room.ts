/**
 * How many deliveries one dispatcher holds, and of whom: never more than its buffer has room for.
 *
 * An eighth of the room is kept for what is urgent, and a quarter for integrations of which less is held than their places
 * need: so a healthy one finds room beside dead ones that are not known for it yet. The rest is common. Of one integration
 * no more is held than an eighth of all; once half of the common room is used, no more than an equal share; once it was
 * too slow, little. Slow integrations together have half of the room. What finds no room waits in the store, and is claimed
 * in its turn.
 */
import type { Lane, LeasedDelivery } from "../../domain/Delivery.ts"
import { isUrgentLane } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import { Appetites } from "./Appetites.ts"

export interface RoomOptions {
  readonly concurrency: number
  readonly concurrencyPerIntegration: number
  /** The most deliveries held in all. */
  readonly buffer: number
}

/** The most deliveries held of one integration, and the room kept for what is urgent, as a share of all. */
const eighth = 1 / 8

/** The room kept for integrations of which little is held, as a share of all. */
const quarter = 1 / 4

/** Once the held events have so many characters of data together, nothing more is taken over. */
export const maxData = 64 * 1024 * 1024

interface Holding {
  /** Deliveries held: queued, reserved or open. */
  held: number
  queued: number
  /** How many may be held: many while the receiver keeps up, few once it was too slow for that. */
  depth: number
  /** The store has more of it than was handed over: new deliveries must queue behind those. */
  behind: boolean
  /** The last attempt that says something of its pace took long. */
  slow: boolean
  /** From which limit on more of it should be claimed; 0 when nothing is known to wait. */
  hungryFrom: number
}

export class Room {
  private readonly holdings = new Map<IntegrationId, Holding>()
  private readonly options: RoomOptions
  /** What is not urgent may use so much. */
  private readonly ordinary: number
  /** So much of it by integrations of which more is held than their places need. */
  private readonly common: number
  private readonly appetitesOfSlow: Appetites
  private readonly appetitesOfOthers: Appetites
  private heldTotal = 0
  private heldSlow = 0
  private slowCount = 0
  private data = 0
  /** Room that a claim under way may fill. */
  private claiming = 0

  /** How many deliveries of an integration are held at most while nothing speaks against it. */
  readonly depth: number
  /** How many are held of one that was too slow: what its places need. */
  readonly minimum: number

  constructor(options: RoomOptions) {
    this.options = options
    const { buffer, concurrency, concurrencyPerIntegration } = options
    this.ordinary = buffer - Math.min(concurrency, Math.floor(buffer * eighth))
    this.common = this.ordinary - Math.floor(buffer * quarter)
    this.minimum = 2 * concurrencyPerIntegration
    this.depth = Math.max(this.minimum, Math.floor(buffer * eighth))
    this.appetitesOfSlow = new Appetites(this.depth)
    this.appetitesOfOthers = new Appetites(this.depth)
  }

  /** Deliveries held in all. */
  get held(): number {
    return this.heldTotal
  }

  /** How many more deliveries can be claimed. */
  get left(): number {
    return this.data < maxData ? Math.max(0, this.ordinary - this.heldTotal - this.claiming) : 0
  }

  /** How many may be held now of an integration of which nothing is held yet. */
  get allowance(): number {
    return Math.min(this.depth, this.shareOfOthers)
  }

  /** For integrations whose appetite is not the allowance, how many more to claim. */
  get appetites(): ReadonlyMap<IntegrationId, number> {
    const { allowance } = this
    const appetites = new Map<IntegrationId, number>()
    for (const [id, holding] of this.holdings) {
      const limit = this.limitOf(holding)
      // Nothing before most of what is held has been sent.
      const appetite = holding.queued > limit / 4 ? 0 : Math.max(0, limit - holding.held)
      if (appetite !== allowance) appetites.set(id, appetite)
    }
    return appetites
  }

  /** Whether something that is known to wait in the store should be claimed now. */
  get hasAppetite(): boolean {
    if (this.left === 0) return false
    return this.appetitesOfOthers.anyWithin(this.shareOfOthers) || this.appetitesOfSlow.anyWithin(this.shareOfSlow)
  }

  /** Integrations that are known to have more in the store. */
  get behind(): ReadonlyArray<IntegrationId> {
    return Array.from(this.holdings).flatMap(([id, { behind }]) => (behind ? [id] : []))
  }

  isSlow(id: IntegrationId): boolean {
    return this.holdings.get(id)?.slow ?? false
  }

  /**
   * Keeps room for a claim, so many deliveries at most; says for how many. `endClaim` follows. With the allowance and the
   * appetites of now, it takes no room that is kept for others: what is left of the common room comes first.
   */
  beginClaim(most: number): number {
    const common = this.common - this.heldTotal
    this.claiming = Math.min(this.left, most, common > 0 ? common : most)
    return this.claiming
  }

  endClaim(): void {
    this.claiming = 0
  }

  /** Keeps room for a delivery that is about to be stored; false when it should wait in the store instead. */
  reserve(id: IntegrationId, lane: Lane): boolean {
    const holding = this.holdingOf(id)
    const fits = isUrgentLane(lane) ? this.fitsUrgent(holding) : this.fits(holding)
    this.update(id, holding, { held: fits ? 1 : 0, ...(!fits && { behind: true }) })
    return fits
  }

  /** A claimed delivery takes its room. */
  hold(id: IntegrationId): void {
    this.claiming = Math.max(0, this.claiming - 1)
    this.update(id, this.holdingOf(id), { held: 1 })
  }

  /** A delivery that takes room waits for a place. */
  queue({ event, integration }: LeasedDelivery): void {
    this.data += event.data.length
    this.update(integration.id, this.holdingOf(integration.id), { queued: 1 })
  }

  /** A delivery has got its place. */
  start({ integration: { id } }: LeasedDelivery): void {
    const holding = this.holdingOf(id)
    // It is through with what it was given while there is more: it can be given more at once.
    if (holding.queued === 1 && holding.behind) holding.depth = Math.min(this.depth, 2 * holding.depth)
    this.update(id, holding, { queued: -1 })
  }

  /** A delivery that had a place is held no more. */
  leave({ event, integration }: LeasedDelivery): void {
    this.data -= event.data.length
    this.drop(integration.id)
  }

  /** A delivery that waited for a place is held no more. */
  leaveQueue(delivery: LeasedDelivery): void {
    this.update(delivery.integration.id, this.holdingOf(delivery.integration.id), { queued: -1 })
    this.leave(delivery)
  }

  /** What was held, and was not to be sent, is held no more. */
  drop(id: IntegrationId): void {
    const holding = this.holdings.get(id)
    if (holding !== undefined) this.update(id, holding, { held: -1 })
  }

  /** Notes whether the store still has more of an integration than was taken. */
  setBehind(id: IntegrationId, behind: boolean): void {
    const holding = this.holdings.get(id)
    if (holding !== undefined) this.update(id, holding, { behind })
  }

  /** Holds little of an integration from now on; says how much. */
  narrow(id: IntegrationId): number {
    const holding = this.holdingOf(id)
    holding.depth = this.minimum
    this.update(id, holding, {})
    return this.limitOf(holding)
  }

  /** Notes how its last attempt went; says whether it has become slow by it. */
  setSlow(id: IntegrationId, slow: boolean): boolean {
    const holding = this.holdingOf(id)
    if (holding.slow === slow) return false
    this.appetitesOf(holding).move(holding.hungryFrom, 0)
    holding.hungryFrom = 0
    holding.slow = slow
    this.slowCount += slow ? 1 : -1
    this.heldSlow += slow ? holding.held : -holding.held
    this.update(id, holding, {})
    return slow
  }

  private fits(holding: Holding): boolean {
    return this.left > 0 && !holding.behind && holding.held < this.limitOf(holding)
  }

  /** What is urgent overtakes the backlog of its own integration too, and has room of its own. */
  private fitsUrgent(holding: Holding): boolean {
    const { buffer, concurrencyPerIntegration } = this.options
    const isFull = this.heldTotal + this.claiming >= buffer || this.data >= maxData
    return !isFull && holding.held < holding.depth + concurrencyPerIntegration
  }

  private limitOf({ depth, slow }: Holding): number {
    return Math.min(depth, slow ? this.shareOfSlow : this.shareOfOthers)
  }

  /** An equal share of what slow integrations leave, once half of the common room is used; once all is, what places need. */
  private get shareOfOthers(): number {
    if (2 * this.heldTotal < this.common) return this.depth
    const others = this.holdings.size - this.slowCount
    const shareOf = (room: number): number => Math.max(1, Math.floor((room - this.heldSlow) / (others + 1)))
    return this.heldTotal < this.common ? shareOf(this.common) : Math.min(this.minimum, shareOf(this.ordinary))
  }

  private get shareOfSlow(): number {
    return Math.max(1, Math.floor(this.ordinary / 2 / Math.max(1, this.slowCount)))
  }

  private appetitesOf({ slow }: Holding): Appetites {
    return slow ? this.appetitesOfSlow : this.appetitesOfOthers
  }

  private holdingOf(id: IntegrationId): Holding {
    const known = this.holdings.get(id)
    if (known !== undefined) return known
    const holding = { held: 0, queued: 0, depth: this.depth, behind: false, slow: false, hungryFrom: 0 }
    this.holdings.set(id, holding)
    return holding
  }

  /** Counts what changes of a holding, and forgets one of which there is nothing. */
  private update(
    id: IntegrationId,
    holding: Holding,
    { behind = holding.behind, held = 0, queued = 0 }: { held?: number; queued?: number; behind?: boolean }
  ): void {
    holding.held += held
    holding.queued += queued
    holding.behind = behind
    this.heldTotal += held
    if (holding.slow) this.heldSlow += held
    const from = behind ? Math.max(holding.held + 1, 4 * holding.queued) : 0
    const hungryFrom = from <= holding.depth ? from : 0
    this.appetitesOf(holding).move(holding.hungryFrom, hungryFrom)
    holding.hungryFrom = hungryFrom
    if (holding.held > 0 || behind) return
    this.holdings.delete(id)
    if (holding.slow) this.slowCount--
  }
}
