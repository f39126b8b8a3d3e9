/**
 * The numbers in events' data: unique in a plan, growing from day to day, and not depending on where a plan begins or
 * on what other flows do.
 *
 * From the top of the 53 bits of an exact double: 15 bits of days since 2000 (until 2089), 9 of buildings, 4 of flows,
 * and 25 that count what one flow does in one building on one day.
 */
import { mostBuildings } from "../scenario/Scenario.ts"
import type { FlowName } from "../traffic/Flow.ts"
import { flowNames } from "../traffic/Flow.ts"
import { dayMillis } from "../world/LocalTime.ts"

const daysUntil2000 = 10_957
const flowRoom = 0x10
const countRoom = 0x200_0000

/** The most that people can be multiplied by: the busiest flow of the largest preset then fills a fifth of its room. */
export const maxRateScale = 1_000

/** The longest plan, in milliseconds: ids have room for the years in which it can start, and ten more. */
export const longestDuration = 3_650 * dayMillis

/** The place of one flow of one building (by its place in the scenario) on one day (since 1970). */
export const placeOf = (day: number, building: number, flow: FlowName): number =>
  ((day - daysUntil2000) * mostBuildings + building) * flowRoom + flowNames.indexOf(flow)

/** Gives out the numbers of a place. */
export const eventNumbers = (place: number): (() => number) => {
  let count = 0
  return () => place * countRoom + count++
}
