/**
 * How processes hear of changes to integrations, as a database's notifications would tell them: a little later, in any
 * order, to whoever made the change too, whose own answer can be lost; and when the connection breaks, not at all until it
 * is back, which says that anything may have changed.
 */
import type { IntegrationId } from "@doorhook/core"
import type { Rng } from "../../random/Substream.ts"
import type { VirtualTime } from "../time/VirtualTime.ts"
import type { Faults } from "./Faults.ts"
import { between, happens } from "./Draw.ts"

/** How good the connection is that changes are heard over. Times in milliseconds. */
export interface HearingQuality {
  /** The longest that a signal takes. */
  readonly delay: number
  /** How likely it is that one is lost, because the connection has broken. */
  readonly lost: number
  /** The longest until a broken connection is back. */
  readonly reconnect: number
}

/** Somebody who hears. */
export interface Listener {
  readonly hear: (changed: ReadonlyArray<IntegrationId> | null) => void
}

export class Hearing {
  readonly #quality: HearingQuality
  readonly #time: VirtualTime
  readonly #faults: Faults
  readonly #rng: Rng

  constructor(quality: HearingQuality, time: VirtualTime, faults: Faults, rng: Rng) {
    this.#quality = quality
    this.#time = time
    this.#faults = faults
    this.#rng = rng
  }

  /** An integration has changed. */
  tell(listeners: ReadonlyArray<Listener>, changed: IntegrationId): void {
    const { delay, lost, reconnect } = this.#quality
    for (const listener of listeners) {
      if (!this.#faults.calm && happens(this.#rng, lost)) {
        this.#time.after(between(this.#rng, delay, reconnect), () => listener.hear(null))
      } else this.#time.after(this.#rng.below(delay + 1), () => listener.hear([changed]))
    }
  }
}
