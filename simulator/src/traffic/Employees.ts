/**
 * Days of employees: in, to the floor, out to lunch and back in groups, floor doors in between, out.
 *
 * Groups are what makes peaks sharper than chance: the first of a group comes at a time of their own, the others badge
 * right behind, and some of them do not badge at all.
 */
import type { Lognormal } from "../random/Distribution.ts"
import { between, chance, lognormal, normal, poisson } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { Person } from "../world/Building.ts"
import type { ByWeekday } from "./Flow.ts"
import { ofWeekday } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import { rngFor } from "./FlowDay.ts"
import type { Access } from "./Happening.ts"
import type { ClockTime } from "./Members.ts"
import { attendance, memberHappenings } from "./Members.ts"

export interface EmployeeFlow {
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

/**
 * Attendance by weekday as measured against early 2020 in 2,600 buildings (Monday and Thursday interpolated); arrivals
 * with 80 % of the people in one hour (Barney's up-peak); groups as in lobby studies, mostly single in the morning,
 * larger at noon; the rest is assumed and plausible.
 */
export const employeeFlow: EmployeeFlow = {
  _tag: "Employees",
  name: "employees",
  attendance: [0.02, 0.52, 0.62, 0.62, 0.56, 0.35, 0.04],
  day_variation: 0.1,
  arrives: { at: 8.83, spread: 0.39 },
  leaves: { at: 17.4, spread: 0.8 },
  arrival_groups: 0.1,
  lunch: { at: 12.25, spread: 0.35, share: 0.6, minutes: { median: 38, sigma: 0.3 }, groups: 0.35 },
  floor_uses: 1.5,
  tailgating: 0.02,
  exits_logged: true
}

/** Clock times in hours. */
interface WorkingDay {
  readonly arrives: number
  readonly leaves: number
  readonly lunch: { readonly out: number; readonly back: number } | null
}

/** Nobody goes home or to lunch right after coming. */
const shortestDay = 3
const shortestMorning = 0.5

/** From one badge to the next of a group, in hours. */
const stepBehind = (rng: Rng): number => between(rng, 1, 2.2) / 3_600

/** From the entrance to the floor, in hours. */
const wayUp = (rng: Rng): number => between(rng, 60, 180) / 3_600

const lunchOf = (rng: Rng, flow: EmployeeFlow, last: WorkingDay | null): WorkingDay["lunch"] => {
  if (!chance(rng, flow.lunch.share)) return null
  const company = last?.lunch
  if (company && chance(rng, flow.lunch.groups)) {
    return { out: company.out + stepBehind(rng), back: company.back + stepBehind(rng) }
  }
  const out = normal(rng, flow.lunch.at, flow.lunch.spread)
  return { out, back: out + lognormal(rng, flow.lunch.minutes) / 60 }
}

const workingDayOf = (rng: Rng, flow: EmployeeFlow, person: Person, last: WorkingDay | null, isBehind: boolean) => {
  // Four fifths of the variance of when people come is habit, the rest is the day.
  const arrives =
    last !== null && isBehind
      ? last.arrives + stepBehind(rng)
      : flow.arrives.at + flow.arrives.spread * (0.894 * person.habit + normal(rng, 0, 0.447))
  const leaves = Math.max(arrives + shortestDay, normal(rng, flow.leaves.at, flow.leaves.spread))
  const lunch = lunchOf(rng, flow, last)
  const fits = lunch !== null && lunch.out > arrives + shortestMorning && lunch.back < leaves - shortestMorning
  return { arrives, leaves, lunch: fits ? lunch : null }
}

/** The employees' passages of one day. */
export const employeeHappenings = (context: FlowDay<EmployeeFlow>): IterableIterator<Access> => {
  const { flow, day } = context
  const rng = rngFor(context, "days")
  const present = attendance(context, ofWeekday(flow.attendance, day.weekday), flow.day_variation)
  let last: WorkingDay | null = null
  return memberHappenings(context, "company", (person, add) => {
    if (!chance(rng, present)) return
    const floor = person.unit.door
    const isBehind = last !== null && chance(rng, flow.arrival_groups)
    const today: WorkingDay = workingDayOf(rng, flow, person, last, isBehind)
    last = today
    const leavesTrace = flow.exits_logged || person.entrance.kind === "garage"
    if (!isBehind || !chance(rng, flow.tailgating)) add(today.arrives, person.entrance)
    const atDesk = today.arrives + wayUp(rng)
    add(atDesk, floor)
    if (today.lunch !== null) {
      if (flow.exits_logged) add(today.lunch.out, person.entrance)
      add(today.lunch.back, person.entrance)
      add(today.lunch.back + wayUp(rng), floor)
    }
    for (let uses = poisson(rng, flow.floor_uses); uses > 0; uses--) {
      const clock = between(rng, atDesk, today.leaves - 0.1)
      const isOut = today.lunch !== null && clock > today.lunch.out - 0.05 && clock < today.lunch.back + 0.1
      if (!isOut) add(clock, floor)
    }
    if (leavesTrace) add(today.leaves, person.entrance)
  })
}
