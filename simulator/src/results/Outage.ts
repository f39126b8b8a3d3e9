/**
 * What waits because a receiver is down by the clock: a delivery from when the receiver first refused it to its end. What
 * comes and goes while the receiver is there is none of it, and of several outages the worst one counts.
 */
import type { AttemptOutcome, DeliveryState } from "@doorhook/core"

/** Whether a modelled receiver is down by what it did: no other trait refuses connections. */
export const isDown = (outcome: AttemptOutcome): boolean => outcome === "connection_refused"

export class Outage {
  #open = 0
  mostOpen = 0
  /** Since the beginning: when the most were open; null when none ever was. */
  mostOpenAt: number | null = null
  /** After that: when the first of them was delivered, if one was, and when none was left. */
  deliveredAt: number | null = null
  emptyAt: number | null = null
  /** How many were given up, and cancelled, of all outages. */
  exhausted = 0
  cancelled = 0

  /** A delivery waits for the receiver from now on. */
  begin(time: number): void {
    if (++this.#open <= this.mostOpen) return
    this.mostOpen = this.#open
    this.mostOpenAt = time
    this.deliveredAt = null
    this.emptyAt = null
  }

  /** It waits no longer. */
  end(time: number, state: DeliveryState): void {
    this.#open--
    if (state === "delivered" && this.emptyAt === null) this.deliveredAt ??= time
    if (state === "exhausted" || state === "cancelled") this[state]++
    if (this.#open === 0) this.emptyAt ??= time
  }
}
