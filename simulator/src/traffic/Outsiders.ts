/**
 * People without a credential of their own: visitors, couriers, food, trades.
 *
 * They arrive as a Poisson process by the clock on the wall. Each arrival is a visit (see `Visit`); those with a code
 * do not ring.
 */
import { dayFactor } from "../random/Distribution.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Season } from "../world/Calendar.ts"
import { seasonFactor } from "../world/Calendar.ts"
import { arrivals } from "./Arrivals.ts"
import type { DayShape } from "./DayShape.ts"
import type { ByWeekday, FlowName } from "./Flow.ts"
import { isWeekend, ofWeekday } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import { rngFor } from "./FlowDay.ts"
import type { Happening } from "./Happening.ts"
import type { VisitBehaviour } from "./Visit.ts"
import { destinationsIn, visit } from "./Visit.ts"

export interface OutsiderFlow extends VisitBehaviour {
  readonly _tag: "Outsiders"
  readonly name: Exclude<FlowName, "residents" | "employees" | "anomalies">
  /** Arrivals on a day whose weekday factor is 1. */
  readonly per_day: number
  readonly weekdays: ByWeekday
  /** How much days differ: coefficient of variation of the day factor. */
  readonly day_variation: number
  readonly on_weekdays: DayShape
  readonly on_weekends: DayShape
  /** Parts of the year with more of them, or fewer. */
  readonly seasons: ReadonlyArray<Season>
}

/** How many are expected on a day without a season, before the day factor. */
export const expectedArrivals = (flow: OutsiderFlow, weekday: number, rateScale: number): number =>
  flow.per_day * ofWeekday(flow.weekdays, weekday) * rateScale

type OutsiderDay = Pick<FlowDay<OutsiderFlow>, "flow" | "day" | "weekday" | "rateScale" | "substream">

/** How many are expected on a day that is as busy as it is: what its day factor is, only the simulation knows. */
export const expectedOn = (context: OutsiderDay): number => {
  const { flow, day, weekday, rateScale, substream } = context
  const factor = dayFactor(new Rng(child(substream, "day factor")), flow.day_variation)
  return expectedArrivals(flow, weekday, rateScale) * seasonFactor(flow.seasons, day.number) * factor
}

export const shapeOn = (flow: OutsiderFlow, weekday: number): DayShape =>
  isWeekend(weekday) ? flow.on_weekends : flow.on_weekdays

/** The outsiders' happenings of one day, in order of time. */
export function* outsiderHappenings(context: FlowDay<OutsiderFlow>): IterableIterator<Happening> {
  const { flow, building, day, weekday } = context
  const mean = expectedOn(context)
  const destinations = destinationsIn(building, flow.use)
  const rng = rngFor(context, "visits")
  // What earlier visits still bring about, the next to come last.
  const pending: Array<Happening> = []
  for (const elapsed of arrivals(day, shapeOn(flow, weekday), mean, rngFor(context, "arrivals"))) {
    const time = day.start + elapsed
    for (let next = pending.at(-1); next !== undefined && next.time <= time; next = pending.at(-1)) {
      pending.pop()
      yield next
    }
    for (const happening of visit(context, destinations, rng, time)) insert(pending, happening)
  }
  yield* pending.toReversed()
}

/** Keeps a short list in falling order of time, and what came first last among equals. */
const insert = (pending: Array<Happening>, happening: Happening): void => {
  let place = pending.length
  while (place > 0 && (pending[place - 1]?.time ?? 0) <= happening.time) place--
  pending.splice(place, 0, happening)
}
