/**
 * The devices behind doors and panels: controllers that lose their connection, keep what happened and send it later, and
 * whose clocks are wrong.
 */
import type { Lognormal } from "../random/Distribution.ts"

/** Times in milliseconds. */
export interface Devices {
  /** How often a controller loses its connection and for how long; null for never. */
  readonly outages: {
    /** Mean time from one to the next. */
    readonly every: number
    /** How long they last; none goes on past midnight UTC. */
    readonly down: Lognormal
  } | null
  readonly flush: {
    /** How many kept events a controller sends in a second when it is back. */
    readonly per_second: number
    /** How much later than its turn each may come: what puts them out of order. */
    readonly jitter: number
  }
  readonly clocks: {
    /** Standard deviation of clocks that are kept by the network. */
    readonly deviation: number
    /** Share of clocks that nobody keeps, and their standard deviation. */
    readonly wrong: number
    readonly wrong_deviation: number
  }
}

/** Doors on one controller, and the panels at these doors. */
export const doorsPerController = 4
