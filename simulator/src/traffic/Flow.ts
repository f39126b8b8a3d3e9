/**
 * Common parts of all flows. A flow describes one kind of people in a building and how they behave. It is plain data,
 * decoded from the parameters of a scenario.
 */
import type { Substream } from "../random/Substream.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Building } from "../world/Building.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import type { Roster } from "../world/Roster.ts"
import type { ByWeekday } from "./Parameter.ts"

/**
 * Names of the flows. A flow's random numbers depend on its name, and its event ids on its position in this list, so
 * new flows must be added at the end.
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

/** Input for generating one day of a flow. */
export interface FlowDay<F> {
  readonly flow: F
  readonly building: Building
  readonly roster: Roster
  readonly day: LocalDay
  /** Effective weekday: a holiday counts as a Sunday, which is 0. */
  readonly weekday: number
  /** Substream for all random numbers of this flow on this day. */
  readonly substream: Substream
  /** Substream of the day's weather, which all buildings of a time zone share. */
  readonly weather: Substream
  /** Factor for the number of people. */
  readonly rateScale: number
  readonly nextId: () => number
}

/** Returns a random number generator for one purpose, which is independent of other purposes. */
export const rngFor = (context: Pick<FlowDay<unknown>, "substream">, purpose: string): Rng =>
  new Rng(child(context.substream, purpose))

export const ofWeekday = (values: ByWeekday, weekday: number): number => values[weekday] ?? 0
