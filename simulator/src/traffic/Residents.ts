/**
 * Days of residents: work, errands, evenings out, and use of shared rooms. On some days, a household is away.
 *
 * An entrance is logged only on the way in, because leaving needs no credential. A garage gate is logged both ways.
 */
import { Schema } from "effect"
import { chance, exponential, lognormal, normal, oneOf, poisson } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { Person } from "../world/Building.ts"
import { hour } from "../world/LocalTime.ts"
import { clockAt, dayShape } from "./DayShape.ts"
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
import type { ClockTime } from "./Parameter.ts"
import {
  clockTime,
  Duration,
  factorsByWeekday,
  lognormalOf,
  parameter,
  Rate,
  Share,
  sharesByWeekday
} from "./Parameter.ts"

const absences = "absences of exponential length (Wang 2005; Page et al. 2008), approximated; values assumed"

export const ResidentParameters = Schema.Struct({
  active: parameter(
    Share,
    0.75,
    "Share of credential holders who use their credential on a usual day, not counting those who are away",
    "25 % inactive per day in a sample of four million users"
  ),
  day_variation: parameter(Share, 0.1, "Coefficient of variation of the day factor for the number of active people"),
  trips: parameter(
    Rate,
    1,
    "Number of trips of a household per year. During a trip, nobody goes in or out or answers calls",
    "72 to 78 % of Germans over 14 make a holiday trip of five days or more in a year (Hopfinger 2007); value assumed"
  ),
  trip_duration: lognormalOf(
    Duration,
    { median: "11d", sigma: 0.4 },
    "Length of a trip, at most 60 days",
    "12.3 days on average (Tourismusanalyse, 2019); spread assumed"
  ),
  goes_to_work: sharesByWeekday(
    { sun: 0.06, mon: 0.82, tue: 0.86, wed: 0.86, thu: 0.84, fri: 0.7, sat: 0.14 },
    "Share of the people with day work who go to work; holidays are like Sundays"
  ),
  shifts: shifts(
    0.05,
    0.05,
    0.03,
    "14.8 % of US full-time workers don't work a day schedule, 4.7 % evenings, 3.2 % nights (BLS, May 2004, USDL 05-1198)"
  ),
  leaves: clockTime(
    "07:50",
    "1h",
    "Time at which people with day work leave",
    "53 % of US workers leave home between 6:30 and 8:29 (Census 2000, Journey to Work), shift workers included; value assumed"
  ),
  returns: clockTime("18:10", "1.2h", "Time at which people with day work return"),
  errands: factorsByWeekday(
    { sun: 0.9, mon: 1.1, tue: 1.1, wed: 1.1, thu: 1.1, fri: 1.3, sat: 1.5 },
    "Trips per day of a person who stays at home; people at work make a third as many",
    absences
  ),
  errand_times: dayShape(
    {
      from: "07:00",
      to: "22:00",
      even: 0.4,
      peaks: [
        { at: "10:30", spread: "1.5h", weight: 0.35 },
        { at: "16:30", spread: "2h", weight: 0.25 }
      ]
    },
    "Times at which trips begin"
  ),
  errand_duration: lognormalOf(Duration, { median: "65m", sigma: 0.7 }, "Duration of trips", absences),
  evenings: sharesByWeekday(
    { sun: 0.1, mon: 0.1, tue: 0.1, wed: 0.12, thu: 0.16, fri: 0.28, sat: 0.32 },
    "Share of people who go out in the evening"
  ),
  evening_leaves: clockTime("19:42", "36m", "Time at which people go out in the evening"),
  evening_returns: clockTime("23:06", "1.1h", "Time at which people return from an evening out"),
  weekend_returns: clockTime(
    "25:00",
    "1.6h",
    "Time at which people return from an evening out on Fridays and Saturdays, mostly after midnight"
  ),
  late_nights: parameter(
    Share,
    0.15,
    "Share of evenings out, on any day, that end later: by two hours on average (exponential)"
  ),
  room_uses: parameter(Rate, 0.35, "Number of uses of shared rooms per person and day"),
  room_times: dayShape(
    {
      from: "06:00",
      to: "23:00",
      even: 0.4,
      peaks: [
        { at: "07:42", spread: "0.7h", weight: 0.2 },
        { at: "18:30", spread: "1.8h", weight: 0.4 }
      ]
    },
    "Times at which shared rooms are used"
  ),
  tailgating: parameter(
    Share,
    0.15,
    "Share of people on foot who follow somebody through the open door without an event",
    "assumed; only vendors' claims exist (40 to 60 % of entrants)"
  ),
  exits: exitParameter,
  ...memberParameters
}).annotate({ description: "People who live here" })

export interface ResidentFlow extends Readonly<typeof ResidentParameters.Type> {
  readonly _tag: "Residents"
  readonly name: "residents"
}

/** Times of day, in hours. */
interface Absence {
  readonly out: number
  readonly back: number
}

/** Minimum time at home between two absences, in hours. */
const shortestStay = 0.25

/** Duration of the commute, and spread of shift changes between workplaces, in hours (assumed). */
const commute = { mean: 0.7, spread: 0.3 }
const shiftSpread = 0.75

/** Average extra length of a late evening out, in hours. */
const longerEvening = 2

const at = (rng: Rng, { at, spread }: ClockTime): number => normal(rng, at, spread)

const workOf = (rng: Rng, flow: ResidentFlow, weekday: number, person: Person): Absence | null => {
  if (!person.works) return null
  const shift = shiftOf(person, flow.shifts)
  if (!chance(rng, shift === null ? ofWeekday(flow.goes_to_work, weekday) : flow.shifts.attendance)) return null
  if (shift === null) {
    // Habit and the day each contribute half of the variance of the departure.
    const out = flow.leaves.at + flow.leaves.spread * (0.71 * person.habit + normal(rng, 0, 0.71))
    return { out, back: Math.max(out + 2, at(rng, flow.returns)) }
  }
  const [from, until] = shiftTimes[shift]
  const shifted = shiftSpread * person.habit
  return {
    out: from + shifted - Math.max(0.1, normal(rng, commute.mean, commute.spread)),
    back: until + shifted + Math.max(0.1, normal(rng, commute.mean, commute.spread))
  }
}

/** Draws the absences of one day, beginning with work. Skips each absence that overlaps with an earlier draw. */
const absencesOf = (rng: Rng, flow: ResidentFlow, weekday: number, person: Person): ReadonlyArray<Absence> => {
  const work = workOf(rng, flow, weekday, person)
  const absences: Array<Absence> = work === null ? [] : [work]
  const add = (absence: Absence) => {
    const isFree = absences.every(
      ({ back, out }) => absence.out >= back + shortestStay || absence.back + shortestStay <= out
    )
    if (isFree) absences.push(absence)
  }
  const trips = ofWeekday(flow.errands, weekday) * person.activity
  for (let left = poisson(rng, work === null ? trips : trips / 3); left > 0; left--) {
    const out = clockAt(flow.errand_times, rng.uniform())
    add({ out, back: out + lognormal(rng, flow.errand_duration) / hour })
  }
  if (chance(rng, ofWeekday(flow.evenings, weekday))) {
    const out = at(rng, flow.evening_leaves)
    const back = at(rng, weekday === 5 || weekday === 6 ? flow.weekend_returns : flow.evening_returns)
    const later = chance(rng, flow.late_nights) ? longerEvening * exponential(rng) : 0
    add({ out, back: Math.max(out + 0.5, back + later) })
  }
  return absences
}

/** Yields the residents' passages of one day. */
export const residentOccurrences = (context: FlowDay<ResidentFlow>): IterableIterator<Access> => {
  const { building, day, flow, roster, weekday } = context
  const rng = rngFor(context, "days")
  const active = attendance(context, flow.active, flow.day_variation, 0)
  return memberOccurrences(context, "resident", (person, add) => {
    if (!chance(rng, active) || roster.isAway(person.unit, day.number)) return
    const absences = absencesOf(rng, flow, weekday, person)
    const drives = person.entrance.kind === "garage"
    for (const { back, out } of absences) {
      if (drives) add(out, person.entrance)
      else if (chance(rng, flow.exits)) add(out, person.entrance, "exit")
      if (drives || !chance(rng, flow.tailgating)) add(back, person.entrance)
    }
    for (let uses = poisson(rng, flow.room_uses); uses > 0; uses--) {
      const clock = clockAt(flow.room_times, rng.uniform())
      const isHome = absences.every(({ back, out }) => clock < out || clock > back)
      if (isHome) add(clock, oneOf(rng, building.shared_rooms) ?? null)
    }
  })
}
