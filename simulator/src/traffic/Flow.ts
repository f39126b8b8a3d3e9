/**
 * Common parts of all flows. A flow is one kind of people who use a building, with everything about their behaviour, as
 * plain data decoded from the parameters of a scenario.
 */
import type { Substream } from "../random/Substream.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Building } from "../world/Building.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import type { Roster } from "../world/Roster.ts"
import type { ByWeekday } from "./Parameter.ts"

/**
 * The flows. The name is part of the name of a flow's random numbers, and the position here is part of its event ids,
 * so new flows go to the end.
 */
export const flowNames = [
  "residents",
  "employees",
  "visitors",
  "guests",
  "parcels",
  "office_parcels",
  "food",
  "office_food",
  "trades",
  "anomalies",
  "cleaners",
  "guards"
] as const
export type FlowName = (typeof flowNames)[number]

/** Input of a flow for one day of occurrences. */
export interface FlowDay<F> {
  readonly flow: F
  readonly building: Building
  readonly roster: Roster
  readonly day: LocalDay
  /** Effective weekday: a holiday counts as a Sunday, which is 0. */
  readonly weekday: number
  /** Source of all randomness of this flow on this day. */
  readonly substream: Substream
  /** Factor for the number of people. */
  readonly rateScale: number
  readonly nextId: () => number
}

/** Returns a generator for one purpose. Draws for other purposes don't affect it. */
export const rngFor = (context: Pick<FlowDay<unknown>, "substream">, purpose: string): Rng =>
  new Rng(child(context.substream, purpose))

export const ofWeekday = (values: ByWeekday, weekday: number): number => values[weekday] ?? 0
