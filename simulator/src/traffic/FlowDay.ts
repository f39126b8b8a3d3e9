/**
 * What every flow is given to make one day of happenings.
 */
import type { Substream } from "../random/Substream.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Building } from "../world/Building.ts"
import type { LocalDay } from "../world/LocalDay.ts"

export interface FlowDay<F> {
  readonly flow: F
  readonly building: Building
  readonly day: LocalDay
  /** The weekday that people keep to: a holiday is kept like a Sunday, which is 0. */
  readonly weekday: number
  /** All randomness of this flow on this day comes from here. */
  readonly substream: Substream
  /** How many times as many people as the scenario says. */
  readonly rateScale: number
  readonly nextId: () => number
}

/** A generator for one purpose: what is drawn for another does not move it. */
export const rngFor = (context: FlowDay<unknown>, purpose: string): Rng => new Rng(child(context.substream, purpose))
