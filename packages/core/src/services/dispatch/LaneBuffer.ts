/**
 * The deliveries that one dispatcher holds under lease: how many of whom (`Room`), and in which order they are sent
 * (`Turns`). An integration whose attempts take long has less of both.
 *
 * Plain data in one process: nothing here waits or fails.
 */
import type { Lane, LeasedDelivery } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import type { Roll } from "../../ports/DeliveryStore.ts"
import type { RoomOptions } from "./Room.ts"
import { Room } from "./Room.ts"
import { Turns } from "./Turns.ts"

/**
 * How an attempt went, for the places of its integration: it held its place for long, or was acknowledged soon. Null: it
 * says nothing, because there was none, or it failed at once, as those of a dead receiver may between two that hang.
 */
export type Pace = "prompt" | "slow" | null

export class LaneBuffer {
  private readonly holds: Room
  private readonly turns: Turns

  /** How much is held, and how much of it is sent at once. */
  constructor(options: RoomOptions) {
    this.holds = new Room(options)
    this.turns = new Turns(options)
  }

  /** Requests open now. */
  get open(): number {
    return this.turns.open
  }

  /** Deliveries that wait for a place. */
  get queued(): number {
    return this.turns.queued
  }

  /** Deliveries held: queued, reserved or open. Never more than the buffer. */
  get held(): number {
    return this.holds.held
  }

  /** How many more deliveries can be claimed. */
  get room(): number {
    return this.holds.left
  }

  /** How many deliveries of an integration are taken over at most while nothing speaks against it. */
  get depth(): number {
    return this.holds.depth
  }

  /** How many are held at most of an integration that was too slow. */
  get minimum(): number {
    return this.holds.minimum
  }

  /** How many may be claimed of an integration that is not among the appetites. */
  get allowance(): number {
    return this.holds.allowance
  }

  /** For integrations that we hold something of, how many more to claim, unless it is the allowance. */
  get appetites(): ReadonlyMap<IntegrationId, number> {
    return this.holds.appetites
  }

  /** Whether something that is known to wait in the store should be claimed now. */
  get hasAppetite(): boolean {
    return this.holds.hasAppetite
  }

  /** Integrations that are known to have more in the store. */
  get behind(): ReadonlyArray<IntegrationId> {
    return this.holds.behind
  }

  /** Shares the places of each integration with other workers from now on. */
  share(roll: Roll): void {
    this.turns.share(roll)
  }

  /** Keeps room for a claim, so many deliveries at most; says for how many. `endClaim` follows. */
  beginClaim(most: number): number {
    return this.holds.beginClaim(most)
  }

  /** What was not claimed is free for others. */
  endClaim(): void {
    this.holds.endClaim()
  }

  /** Keeps room for a delivery that is about to be stored; false when it should wait in the store instead. */
  reserve(integration: IntegrationId, lane: Lane): boolean {
    return this.holds.reserve(integration, lane)
  }

  /** Gives up a reservation. */
  unreserve(integration: IntegrationId): void {
    this.holds.drop(integration)
  }

  /** Takes in a delivery for which room was reserved. */
  acceptReserved(delivery: LeasedDelivery): void {
    this.holds.queue(delivery)
    this.turns.add(delivery, this.holds.isSlow(delivery.integration.id))
  }

  /** Takes in a delivery that was claimed. */
  acceptClaimed(delivery: LeasedDelivery): void {
    this.holds.hold(delivery.integration.id)
    this.acceptReserved(delivery)
  }

  /**
   * Takes out what waits for an integration under leases that end before a time, because its turn came too late, and
   * holds less of it from now on.
   */
  removeLate(integration: IntegrationId, leaseEndsBefore: number): ReadonlyArray<LeasedDelivery> {
    this.holds.narrow(integration)
    return this.remove(integration, ({ lease }) => lease.until < leaseEndsBefore)
  }

  /** Notes what a claim showed: whether the store still has more of an integration than was taken. */
  setBehind(integration: IntegrationId, behind: boolean): void {
    this.holds.setBehind(integration, behind)
  }

  /** The next delivery to send, of all or of those that are urgent, its place taken; undefined when there is none now. */
  next(which: "urgent" | "all" = "all"): LeasedDelivery | undefined {
    const delivery = this.turns.next(which)
    if (delivery !== undefined) this.holds.start(delivery)
    return delivery
  }

  /**
   * The attempt is over, or was not made: its place is free. Of an integration that has become slow, what is held beyond
   * its share is taken out: the caller gives it back to the store.
   */
  answered(delivery: LeasedDelivery, pace: Pace): ReadonlyArray<LeasedDelivery> {
    const { id } = delivery.integration
    const slow = pace === null ? null : pace === "slow"
    const hasSlowed = slow !== null && this.holds.setSlow(id, slow)
    this.turns.finish(delivery, slow)
    if (!hasSlowed) {
      this.holds.leave(delivery)
      return []
    }
    const limit = this.holds.narrow(id)
    this.holds.leave(delivery)
    let staying = Math.max(0, limit - this.turns.openTo(id))
    return this.remove(id, () => staying-- <= 0, { behind: true })
  }

  /** Whether anything that waits passes a test. */
  some(test: (delivery: LeasedDelivery) => boolean): boolean {
    return this.turns.some(test)
  }

  /** Takes out what waits for an integration. The caller gives it back to the store. */
  removeOf(integration: IntegrationId): ReadonlyArray<LeasedDelivery> {
    return this.remove(integration, () => true)
  }

  /** Takes out what waits and passes a test. */
  removeIf(test: (delivery: LeasedDelivery) => boolean): ReadonlyArray<LeasedDelivery> {
    return this.turns.integrations.flatMap((id) => this.remove(id, test))
  }

  /** Takes out all that waits. */
  removeAll(): ReadonlyArray<LeasedDelivery> {
    return this.removeIf(() => true)
  }

  /** Takes out what passes a test; `behind`: it waits in the store from now on. */
  private remove(
    id: IntegrationId,
    test: (delivery: LeasedDelivery) => boolean,
    { behind = false } = {}
  ): ReadonlyArray<LeasedDelivery> {
    const removed = this.turns.remove(id, test)
    if (behind && removed.length > 0) this.holds.setBehind(id, true)
    for (const delivery of removed) this.holds.leaveQueue(delivery)
    return removed
  }
}
