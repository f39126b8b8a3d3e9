/**
 * Days of employees: they come in, go to their floor, go out to lunch and back in groups, pass floor doors in between,
 * and leave. Some work in shifts.
 *
 * Groups make peaks sharper than independent arrivals would. The first person of a group comes at an individual time;
 * the others badge right behind or not at all.
 */
import { Schema } from "effect"
import { between, chance, lognormal, normal, poisson } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { AccessPoint, Person } from "../world/Building.ts"
import { hour } from "../world/LocalTime.ts"
import type { FlowDay } from "./Flow.ts"
import { ofWeekday, rngFor } from "./Flow.ts"
import type { Access } from "./Occurrence.ts"
import {
  attendance,
  exitParameter,
  memberOccurrences,
  memberParameters,
  shiftOf,
  shifts,
  shiftTimes
} from "./Members.ts"
import type { Shift } from "./Members.ts"
import {
  clockTime,
  Duration,
  GroupShare,
  Hours,
  LateClock,
  lognormalOf,
  parameter,
  Rate,
  Share,
  sharesByWeekday,
  usually
} from "./Parameter.ts"

const usualLunch = {
  at: "12:15",
  spread: "30m",
  share: 0.6,
  duration: { median: "38m", sigma: 0.3 },
  groups: 0.35
} as const

const Lunches = Schema.Struct({
  at: usually(LateClock, usualLunch.at),
  spread: usually(Hours, usualLunch.spread),
  share: usually(Share, usualLunch.share),
  duration: lognormalOf(Duration, usualLunch.duration, "Duration of lunch"),
  groups: usually(GroupShare, usualLunch.groups)
})

export const EmployeeParameters = Schema.Struct({
  attendance: sharesByWeekday(
    { sun: 0.02, mon: 0.52, tue: 0.62, wed: 0.62, thu: 0.56, fri: 0.35, sat: 0.04 },
    "Share of the employees who come; holidays are like Sundays",
    "compared with February 2020 in 2,600 buildings (Kastle): Tuesday 60.6 to 63.5 %, Friday 33 to 36 %; Monday and Thursday interpolated"
  ),
  day_variation: parameter(
    Share,
    0.04,
    "Coefficient of variation of the day factor for the number of people who come. That people decide alone adds 3 % in an office of 1,000",
    "shape as for outsiders; value assumed"
  ),
  weather: parameter(
    Share,
    0.04,
    "Coefficient of variation of the factor of a day's weather, traffic and school holidays, which all buildings of a time zone share"
  ),
  arrives: clockTime(
    "08:50",
    "48m",
    "Time of arrival. In the busiest five minutes, 1/(30.08 x spread in hours) of the people come: 4 %",
    "53 % of US workers leave home between 6:30 and 8:29, 20 % before (Census 2000, Journey to Work): a spread of 1.4 h over all trades. Lift designs take 0.39 h (Barney's template: 80 % within an hour), and measured peaks are lower (Peters, Smith, Evans 2011). A single office building lies between; value assumed. The preset design-peak has the design value"
  ),
  leaves: clockTime("17:24", "55m", "Time of departure"),
  arrival_groups: parameter(
    GroupShare,
    0.1,
    "Probability that an employee arrives together with the one before (geometric group sizes)",
    "compound Poisson, mostly single in the morning (Kuusinen et al. 2009, 2011); value assumed"
  ),
  lunch: parameter(
    Lunches,
    usualLunch,
    "When employees go out to lunch, the share who do, the duration, and the probability that the next employee goes along",
    "BCO 2014 designs for 13 % in five minutes, 45 % in each direction; larger groups at noon (Kuusinen et al.); values assumed"
  ),
  floor_uses: parameter(
    Rate,
    1.5,
    "How many times a day a person returns to the floor from elsewhere in the building; people differ, with a heavy tail",
    "absences of exponential length (Wang 2005; Page et al. 2008), approximated; values assumed"
  ),
  tailgating: Schema.optionalKey(
    Share.annotate({
      description:
        "Share of people right behind another person who slip through without an event: 0.02 with turnstiles, 0.10 without",
      "x-source": "assumed; only vendors' claims exist (40 to 60 % of entrants)"
    })
  ),
  shifts: shifts(
    0.02,
    0.015,
    0.005,
    "14.8 % of US full-time workers don't work a day schedule, 4.7 % evenings, 3.2 % nights (BLS, May 2004, USDL 05-1198); fewer in offices, values assumed"
  ),
  exits: exitParameter,
  ...memberParameters
}).annotate({ description: "People who work here" })

export interface EmployeeFlow extends Omit<typeof EmployeeParameters.Type, "tailgating"> {
  readonly _tag: "Employees"
  readonly name: "employees"
  readonly tailgating: number
  /** Whether exits are logged, as with turnstiles. */
  readonly exits_logged: boolean
}

/** Times of day, in hours. */
interface WorkingDay {
  /** The leader's entrance if the person arrives right behind a leader, else the person's usual entrance. */
  readonly entrance: AccessPoint
  readonly arrives: number
  readonly leaves: number
  readonly lunch: Lunch | null
}

interface Lunch {
  readonly out: number
  readonly back: number
  /** People in a group use the same door. */
  readonly door: AccessPoint
  readonly isBehind: boolean
}

/** Minimum length of a working day, and minimum time between lunch and arrival or departure, in hours. */
const shortestDay = 3
const shortestMorning = 0.5

/** Draws the time between two people of a group, and the time from the entrance to the floor, in hours. */
const stepBehind = (rng: Rng): number => between(rng, 1, 2.2) / 3_600
const wayUp = (rng: Rng): number => between(rng, 60, 180) / 3_600

/**
 * Contributions of a person's habit and of the day to the spread of arrivals. Habit makes up four fifths of the
 * variance.
 */
const habitShare = 0.894
const dayShare = 0.447

/** Draws the lunch of a person. `company` is the lunch of the person who went out before, whom this person may join. */
const lunchOf = (rng: Rng, { lunch }: EmployeeFlow, door: AccessPoint, company: Lunch | null): Lunch | null => {
  if (!chance(rng, lunch.share)) return null
  if (company !== null && chance(rng, lunch.groups)) {
    return { ...company, out: company.out + stepBehind(rng), back: company.back + stepBehind(rng), isBehind: true }
  }
  const out = normal(rng, lunch.at, lunch.spread)
  return { out, back: out + lognormal(rng, lunch.duration) / hour, door, isBehind: false }
}

const workingDayOf = (
  rng: Rng,
  flow: EmployeeFlow,
  person: Person,
  leader: WorkingDay | null,
  company: Lunch | null,
  lobby: AccessPoint
): WorkingDay => {
  const arrives =
    leader === null
      ? flow.arrives.at + flow.arrives.spread * (habitShare * person.habit + normal(rng, 0, dayShare))
      : leader.arrives + stepBehind(rng)
  const leaves = Math.max(arrives + shortestDay, normal(rng, flow.leaves.at, flow.leaves.spread))
  const entrance = leader?.entrance ?? person.entrance
  // At noon, drivers leave on foot through the lobby.
  const lunch = lunchOf(rng, flow, entrance.kind === "garage" ? lobby : entrance, company)
  const fits = lunch !== null && lunch.out > arrives + shortestMorning && lunch.back < leaves - shortestMorning
  return { entrance, arrives, leaves, lunch: fits ? lunch : null }
}

/**
 * Draws the working day of a shift. People come and go within minutes of the shift change, and don't go out in between.
 */
const shiftDayOf = (rng: Rng, person: Person, shift: Shift): WorkingDay => {
  const [from, until] = shiftTimes[shift]
  return {
    entrance: person.entrance,
    arrives: from - normal(rng, 0.2, 0.12),
    leaves: until + normal(rng, 0.15, 0.1),
    lunch: null
  }
}

/** Yields the employees' passages of one day. */
export const employeeOccurrences = (context: FlowDay<EmployeeFlow>): IterableIterator<Access> => {
  const { building, flow, weekday } = context
  const rng = rngFor(context, "days")
  const shiftRng = rngFor(context, "shifts")
  const present = attendance(context, ofWeekday(flow.attendance, weekday), flow.day_variation, flow.weather)
  let last: WorkingDay | null = null
  let company: Lunch | null = null
  const [lobby] = building.access_points
  return memberOccurrences(context, "employee", (person, add) => {
    const shift = shiftOf(person, flow.shifts)
    const own = shift === null ? rng : shiftRng
    if (!chance(own, shift === null ? present : flow.shifts.attendance)) return
    const floor = person.unit.door
    const leader: WorkingDay | null = shift === null && last !== null && chance(rng, flow.arrival_groups) ? last : null
    const today: WorkingDay =
      shift === null
        ? workingDayOf(rng, flow, person, leader, company, lobby ?? person.entrance)
        : shiftDayOf(own, person, shift)
    const { entrance, lunch } = today
    if (shift === null) {
      last = today
      company = lunch ?? company
    }
    if (leader === null) add(today.arrives, entrance, shift === null ? "arrival leader" : "other")
    else if (!chance(own, flow.tailgating)) add(today.arrives, entrance, "arrival follower")
    const atDesk = today.arrives + wayUp(own)
    add(atDesk, floor)
    if (lunch !== null) {
      if (flow.exits_logged) add(lunch.out, lunch.door, lunch.isBehind ? "lunch follower" : "lunch leader")
      add(lunch.back, lunch.door)
      add(lunch.back + wayUp(own), floor)
    }
    for (let uses = poisson(own, flow.floor_uses * person.activity); uses > 0; uses--) {
      const clock = between(own, atDesk, today.leaves - 0.1)
      const isOut = lunch !== null && clock > lunch.out - 0.05 && clock < lunch.back + 0.1
      if (!isOut) add(clock, floor)
    }
    if (flow.exits_logged || entrance.kind === "garage") add(today.leaves, entrance)
    else if (chance(own, flow.exits)) add(today.leaves, entrance, "exit")
  })
}
