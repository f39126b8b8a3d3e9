/**
 * What goes wrong at a call, drawn call by call, until the world calms down.
 */
import type { Rng } from "../../random/Substream.ts"
import type { History } from "../History.ts"
import type { VirtualTime } from "../time/VirtualTime.ts"
import { happens } from "./Draw.ts"
import type { Scenario } from "./Scenario.ts"

/** Where in a store call something goes wrong: before it takes effect, or after. */
export type Point = "before" | "after"

/** What becomes of a store call. Latencies in milliseconds. */
export interface CallFate {
  readonly latency: Readonly<Record<Point, number>>
  readonly crash: Point | null
  readonly error: Point | null
}

export class Faults {
  calm = false
  #storeDownUntil = 0
  #directoryDownUntil = 0
  #directorySlowUntil = 0
  readonly #rng: Rng
  readonly #time: VirtualTime
  readonly #history: History
  readonly #scenario: Scenario

  constructor(scenario: Scenario, time: VirtualTime, history: History, rng: Rng) {
    this.#scenario = scenario
    this.#time = time
    this.#history = history
    this.#rng = rng
  }

  storeDown(millis: number): void {
    this.#storeDownUntil = this.#time.now + millis
    this.#history.add({ kind: "fault", what: "store", until: this.#storeDownUntil })
  }

  directoryDown(millis: number, how: "silent" | "slow"): void {
    const until = this.#time.now + millis
    if (how === "slow") this.#directorySlowUntil = until
    else this.#directoryDownUntil = until
    this.#history.add({ kind: "fault", what: "directory", until })
  }

  calmDown(): void {
    this.calm = true
    this.#storeDownUntil = 0
    this.#directoryDownUntil = 0
    this.#directorySlowUntil = 0
    this.#history.add({ kind: "calm" })
  }

  storeCall(): CallFate {
    const rng = this.#rng
    const { faults, storeLatency } = this.#scenario
    const latency = { before: rng.below(storeLatency + 1), after: rng.below(storeLatency + 1) }
    if (this.calm) return { latency, crash: null, error: null }
    const point = happens(rng, 0.5) ? "before" : "after"
    const unwell = this.#time.now < this.#storeDownUntil && happens(rng, faults.storeError)
    return { latency, crash: happens(rng, faults.crash) ? point : null, error: unwell ? point : null }
  }

  /** How long the directory takes to answer, and whether it then does. */
  directoryCall(): { readonly latency: number; readonly answers: boolean } {
    const slow = this.#time.now < this.#directorySlowUntil
    return {
      latency: this.#rng.below((slow ? 20_000 : this.#scenario.directoryLatency) + 1),
      answers: this.#time.now >= this.#directoryDownUntil
    }
  }
}
