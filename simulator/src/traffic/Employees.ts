/**
 * Days of employees: in, to the floor, out to lunch and back in groups, floor doors in between, out.
 *
 * Groups are what makes peaks sharper than chance: the first of a group comes at a time of their own, the others badge
 * right behind, and some of them do not badge at all.
 */
import type { Lognormal } from "../random/Distribution.ts"
import { between, chance, lognormal, normal, poisson } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { AccessPoint, Person } from "../world/Building.ts"
import type { ByWeekday } from "./Flow.ts"
import { ofWeekday } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import { rngFor } from "./FlowDay.ts"
import type { Access } from "./Happening.ts"
import type { ClockTime, MemberFlow } from "./Members.ts"
import { attendance, memberHappenings } from "./Members.ts"

export interface EmployeeFlow extends MemberFlow {
  readonly _tag: "Employees"
  readonly name: "employees"
  /** Share of the employees who come, Sunday first. */
  readonly attendance: ByWeekday
  /** How much days differ: coefficient of variation of the day factor. */
  readonly day_variation: number
  readonly arrives: ClockTime
  readonly leaves: ClockTime
  /** Probability that the next to come walks in with the last (geometric group sizes). */
  readonly arrival_groups: number
  readonly lunch: ClockTime & { readonly share: number; readonly minutes: Lognormal; readonly groups: number }
  /** Times a day that somebody comes back to the floor from elsewhere in the house. */
  readonly floor_uses: number
  /** Share of those right behind somebody else who slip through without an event. */
  readonly tailgating: number
  /** Whether entrances are logged on the way out too, as turnstiles are. */
  readonly exits_logged: boolean
}

/** Clock times in hours. */
interface WorkingDay {
  /** Where the person comes in: behind somebody else it is their door. */
  readonly entrance: AccessPoint
  readonly arrives: number
  readonly leaves: number
  readonly lunch: Lunch | null
}

interface Lunch {
  readonly out: number
  readonly back: number
  /** Those who go together go by one door. */
  readonly door: AccessPoint
  readonly isBehind: boolean
}

/** Nobody goes home or to lunch right after coming. */
const shortestDay = 3
const shortestMorning = 0.5

/** From one badge to the next of a group, in hours. */
const stepBehind = (rng: Rng): number => between(rng, 1, 2.2) / 3_600

/** From the entrance to the floor, in hours. */
const wayUp = (rng: Rng): number => between(rng, 60, 180) / 3_600

/** `company` is the lunch of whoever went before. */
const lunchOf = (rng: Rng, flow: EmployeeFlow, door: AccessPoint, company: Lunch | null): Lunch | null => {
  if (!chance(rng, flow.lunch.share)) return null
  if (company !== null && chance(rng, flow.lunch.groups)) {
    return {
      ...company,
      out: company.out + stepBehind(rng),
      back: company.back + stepBehind(rng),
      isBehind: true
    }
  }
  const out = normal(rng, flow.lunch.at, flow.lunch.spread)
  return { out, back: out + lognormal(rng, flow.lunch.minutes) / 60, door, isBehind: false }
}

const workingDayOf = (
  rng: Rng,
  flow: EmployeeFlow,
  person: Person,
  last: WorkingDay | null,
  company: Lunch | null,
  lobby: AccessPoint,
  isBehind: boolean
): WorkingDay => {
  const arrives =
    last !== null && isBehind
      ? last.arrives + stepBehind(rng)
      : flow.arrives.at + flow.arrives.spread * (habitShare * person.habit + normal(rng, 0, dayShare))
  const leaves = Math.max(arrives + shortestDay, normal(rng, flow.leaves.at, flow.leaves.spread))
  const entrance = last !== null && isBehind ? last.entrance : person.entrance
  // A car stays in the garage at noon.
  const lunch = lunchOf(rng, flow, entrance.kind === "garage" ? lobby : entrance, company)
  const fits = lunch !== null && lunch.out > arrives + shortestMorning && lunch.back < leaves - shortestMorning
  return { entrance, arrives, leaves, lunch: fits ? lunch : null }
}

/** How much of the spread of when people come is habit; the rest is the day: four fifths of the variance. */
export const habitShare = 0.894
const dayShare = 0.447

/** The employees' passages of one day. */
export const employeeHappenings = (context: FlowDay<EmployeeFlow>): IterableIterator<Access> => {
  const { flow, weekday } = context
  const rng = rngFor(context, "days")
  const present = attendance(context, ofWeekday(flow.attendance, weekday), flow.day_variation)
  let last: WorkingDay | null = null
  let company: Lunch | null = null
  const [lobby] = context.building.access_points
  return memberHappenings(context, "company", (person, add) => {
    if (!chance(rng, present)) return
    const floor = person.unit.door
    const isBehind = last !== null && chance(rng, flow.arrival_groups)
    const today: WorkingDay = workingDayOf(rng, flow, person, last, company, lobby ?? person.entrance, isBehind)
    const { entrance, lunch } = today
    last = today
    company = lunch ?? company
    const leavesTrace = flow.exits_logged || entrance.kind === "garage"
    if (!isBehind) add(today.arrives, entrance, "arrival leader")
    else if (!chance(rng, flow.tailgating)) add(today.arrives, entrance, "arrival follower")
    const atDesk = today.arrives + wayUp(rng)
    add(atDesk, floor)
    if (lunch !== null) {
      if (flow.exits_logged) add(lunch.out, lunch.door, lunch.isBehind ? "lunch follower" : "lunch leader")
      add(lunch.back, lunch.door)
      add(lunch.back + wayUp(rng), floor)
    }
    for (let uses = poisson(rng, flow.floor_uses * person.activity); uses > 0; uses--) {
      const clock = between(rng, atDesk, today.leaves - 0.1)
      const isOut = lunch !== null && clock > lunch.out - 0.05 && clock < lunch.back + 0.1
      if (!isOut) add(clock, floor)
    }
    if (leavesTrace) add(today.leaves, entrance)
  })
}
