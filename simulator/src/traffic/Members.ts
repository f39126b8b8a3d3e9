/**
 * What residents and employees have in common: they are there every day, hold credentials, and open doors themselves.
 */
import { chance, dayFactor } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { AccessPoint, EntryMethod, Person, Use } from "../world/Building.ts"
import { dayMillis, hour } from "../world/LocalTime.ts"
import { elapsedAt } from "../world/LocalDay.ts"
import type { FlowName } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import { rngFor } from "./FlowDay.ts"
import type { Access } from "./Happening.ts"
import { Passages } from "./Passages.ts"

/** When people do something: clock times in hours. */
export interface ClockTime {
  readonly at: number
  readonly spread: number
}

/** Uses of a credential that are not the usual way of its holder (assumed): a PIN works without a telephone. */
const unusualShare = 0.08

const methodOf = (rng: Rng, person: Person): EntryMethod => (chance(rng, unusualShare) ? "pin" : person.method)

/** Adds the passages of one person's day. Clock times are in hours; those past 24 are after midnight. */
export type PersonDay = (person: Person, add: (clock: number, door: AccessPoint | null) => void) => void

/**
 * The happenings of a day of members.
 *
 * The rate scale multiplies people: each person is there that many times, the last time with the probability that is
 * left. Behaviour stays as it is.
 */
export function* memberHappenings(
  context: FlowDay<{ readonly name: FlowName }>,
  use: Use,
  personDay: PersonDay
): IterableIterator<Access> {
  const { building, day, flow, rateScale } = context
  const people = building.people.filter(({ unit }) => unit.use === use)
  const passages = new Passages(people, building.access_points)
  const presence = rngFor(context, "presence")
  for (let left = rateScale; left > 0; left--) {
    for (const [index, person] of people.entries()) {
      if (left < 1 && !chance(presence, left)) continue
      personDay(person, (clock, door) => passages.add(clockToElapsed(context, clock), index, door))
    }
  }
  const methods = rngFor(context, "methods")
  for (const { elapsed, person, access_point } of passages.inOrder()) {
    yield {
      _tag: "Access",
      time: day.start + elapsed,
      id: context.nextId(),
      flow: flow.name,
      building_id: building.id,
      tenant_ids: person.tenant_ids,
      access_point,
      entry_method: methodOf(methods, person),
      name: person.name
    }
  }
}

/** Nobody's day is longer than this, from the midnight it begins with: how far a plan has to look back. */
export const longestDay = 2 * dayMillis

const clockToElapsed = ({ day }: FlowDay<unknown>, clock: number): number =>
  elapsedAt(day, Math.max(0, Math.min(clock * hour, longestDay - 1)))

/** How much fuller than usual a day is, as a factor on the probability of coming. */
export const attendance = (context: FlowDay<unknown>, usual: number, variation: number): number =>
  Math.min(1, usual * dayFactor(rngFor(context, "day factor"), variation))
