/**
 * The membership of this process among the workers over one store: its name, until when it is sure to be a member, and
 * whether the store may have leased to it what it does not hold.
 *
 * An answer of the store that is lost may have leased something. The next heartbeat then lists all that is held, and the store
 * releases the rest; except what publications that are under way may still hand over.
 *
 * Plain data: nothing here waits or fails. All times are in milliseconds since the epoch.
 */
import type { DeliveryId } from "../model/Ids.ts"
import type { Heartbeat, Membership as Answer } from "../ports/DeliveryStore.ts"
import type { DeliverySettingsShape } from "./DeliverySettings.ts"
import { settleBudget } from "./DeliverySettings.ts"

/** The longest time between two heartbeats, in milliseconds. */
const longestInterval = 5_000

/** A publication on its way to the store. */
export interface Publication {
  readonly began: number
}

export class Membership {
  /** Publications on their way to the store. */
  readonly publications = new Set<Publication>()
  /** How often to send a heartbeat, to be sure of the membership for the attempts that follow. */
  readonly interval: number
  readonly #lease: number
  /** How long an attempt and its recording may take. */
  readonly #attempt: number
  #worker: string
  #until: number | null = null
  #lostAt: number | null = null

  constructor(worker: string, { ackTimeout, lease }: DeliverySettingsShape) {
    this.#worker = worker
    this.#lease = lease
    this.#attempt = ackTimeout + settleBudget
    this.interval = Math.min(longestInterval, Math.max(1, (lease - this.#attempt) / 2))
  }

  /** The name that deliveries are leased to. */
  get worker(): string {
    return this.#worker
  }

  /** Whether the store may have leased to this worker what it does not hold. */
  get isInDoubt(): boolean {
    return this.#lostAt !== null
  }

  /** Whether the store has answered a heartbeat of this name: what is leased to it before, the first heartbeat releases. */
  get hasBegun(): boolean {
    return this.#until !== null
  }

  /** Whether an attempt that starts now ends, and is recorded, while the membership lasts. */
  mayStart(now: number): boolean {
    return this.#until !== null && this.#until >= now + this.#attempt
  }

  /** Whether it is over. Not left to the store: its answer that says so may be lost. */
  hasLapsed(now: number): boolean {
    return this.#until !== null && this.#until <= now
  }

  /** An answer was lost. */
  noteLostAnswer(now: number): void {
    this.#lostAt = now
  }

  /** The next heartbeat. */
  heartbeat(now: number, held: () => ReadonlyArray<DeliveryId>): Heartbeat {
    const before = Math.min(now, ...Array.from(this.publications, ({ began }) => began))
    const holds = this.isInDoubt ? { holds: { ids: held(), before } } : {}
    return { worker: this.#worker, now, until: now + this.#lease, ...holds }
  }

  /** A heartbeat was answered. False if an earlier membership of this name had ended before. */
  renew({ holds, until }: Heartbeat, { continued }: Answer): boolean {
    // The next heartbeat releases what was created in the same millisecond.
    if (holds !== undefined && this.#lostAt !== null && this.#lostAt < holds.before) this.#lostAt = null
    if (this.#until !== null && !continued) return false
    this.#until = until
    return true
  }

  /** Goes on under another name, not a member yet: nothing is leased to it. */
  beginAgain(worker: string): void {
    this.#worker = worker
    this.#until = null
    this.#lostAt = null
  }
}
