/**
 * What all flows have in common. A flow is one kind of people who use a building, with everything that says how they
 * behave: plain data, decoded from the parameters of a scenario.
 */
import type { Substream } from "../random/Substream.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Building } from "../world/Building.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import type { Roster } from "../world/Roster.ts"
import type { ByWeekday } from "./Parameter.ts"

/**
 * The flows. A flow's name is part of the name of its random numbers, and its place here part of its event ids: new ones
 * go to the end.
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

/** What a flow needs to make one day of occurrences. */
export interface FlowDay<F> {
  readonly flow: F
  readonly building: Building
  readonly roster: Roster
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
export const rngFor = (context: Pick<FlowDay<unknown>, "substream">, purpose: string): Rng =>
  new Rng(child(context.substream, purpose))

export const ofWeekday = (values: ByWeekday, weekday: number): number => values[weekday] ?? 0
