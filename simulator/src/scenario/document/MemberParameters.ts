/**
 * Residents and employees: the parameters of their flows, with defaults and sources.
 */
import { Schema } from "effect"
import { parameter } from "./Parameter.ts"
import {
  ClockTimeValue,
  DayShapeValue,
  Duration,
  GroupShare,
  LognormalValue,
  Rate,
  Share,
  WeekOfNumbers,
  WeekOfShares,
  Clock
} from "./Values.ts"

const Denied = Schema.Struct({ share: Schema.optionalKey(GroupShare), retry: Schema.optionalKey(Share) })

const denied = { share: 0.02, retry: 0.6 }

export const residentDefaults = {
  active: 0.75,
  day_variation: 0.1,
  goes_to_work: { sun: 0.06, mon: 0.82, tue: 0.86, wed: 0.86, thu: 0.84, fri: 0.7, sat: 0.14 },
  leaves: { at: "07:50", spread: "0.63h" },
  returns: { at: "18:10", spread: "1.1h" },
  errands: { sun: 0.9, mon: 1.1, tue: 1.1, wed: 1.1, thu: 1.1, fri: 1.3, sat: 1.5 },
  errand_times: {
    from: "07:00",
    to: "22:00",
    even: 0.4,
    peaks: [
      { at: "10:30", spread: "1.5h", weight: 0.35 },
      { at: "16:30", spread: "2h", weight: 0.25 }
    ]
  },
  errand_duration: { median: "65m", sigma: 0.7 },
  evenings: { sun: 0.1, mon: 0.1, tue: 0.1, wed: 0.12, thu: 0.16, fri: 0.28, sat: 0.32 },
  evening_leaves: { at: "19:42", spread: "0.6h" },
  evening_returns: { at: "23:06", spread: "1.1h" },
  room_uses: 0.35,
  room_times: {
    from: "06:00",
    to: "23:00",
    even: 0.4,
    peaks: [
      { at: "07:42", spread: "0.7h", weight: 0.2 },
      { at: "18:30", spread: "1.8h", weight: 0.4 }
    ]
  },
  tailgating: 0.15,
  denied,
  other_method: 0.08
} as const

const residents = residentDefaults

const dayFactor = "Coefficient of variation of the day factor on how many come"
const tailgating = "assumed; only vendors' claims exist (40 to 60 % of entrants)"
const deniedText =
  "Denied attempts: their share of all attempts, clustered by person, and the probability that the next attempt comes within five seconds"
const otherMethod = "Uses of a credential that are a PIN although its holder usually opens otherwise"
const absences = "absences of exponential length (Wang 2005; Page et al. 2008), approximated; values assumed"

export const residentParameters = Schema.Struct({
  active: parameter(
    Share,
    residents.active,
    "Holders of a credential who use it on a usual day",
    "25 % inactive a day in a sample of four million users"
  ),
  day_variation: parameter(Share, residents.day_variation, dayFactor),
  goes_to_work: parameter(
    WeekOfShares,
    residents.goes_to_work,
    "Share of those with work who go out to it; holidays are kept like Sundays"
  ),
  leaves: parameter(
    ClockTimeValue,
    residents.leaves,
    "When they leave for work",
    "residential peak 5 % of the people in five minutes (CIBSE Guide D gives the form); values assumed"
  ),
  returns: parameter(ClockTimeValue, residents.returns, "When they return from work"),
  errands: parameter(
    WeekOfNumbers,
    residents.errands,
    "Trips a day of somebody who stays at home; those at work make a third of them",
    absences
  ),
  errand_times: parameter(DayShapeValue, residents.errand_times, "When trips begin"),
  errand_duration: parameter(LognormalValue, residents.errand_duration, "How long trips take", absences),
  evenings: parameter(WeekOfShares, residents.evenings, "Share of people who go out in the evening"),
  evening_leaves: parameter(ClockTimeValue, residents.evening_leaves, "When they go out"),
  evening_returns: parameter(ClockTimeValue, residents.evening_returns, "When they come back"),
  room_uses: parameter(Rate, residents.room_uses, "Uses of shared rooms, per person and day"),
  room_times: parameter(DayShapeValue, residents.room_times, "When shared rooms are used"),
  tailgating: parameter(
    Share,
    residents.tailgating,
    "Share of those coming in on foot who follow somebody through the open door: no event",
    tailgating
  ),
  denied: parameter(Denied, residents.denied, deniedText),
  other_method: parameter(Share, residents.other_method, otherMethod)
}).annotate({ description: "People who live here" })

export const employeeDefaults = {
  attendance: { sun: 0.02, mon: 0.52, tue: 0.62, wed: 0.62, thu: 0.56, fri: 0.35, sat: 0.04 },
  day_variation: 0.15,
  arrives: { at: "08:50", spread: "0.39h" },
  leaves: { at: "17:24", spread: "0.8h" },
  arrival_groups: 0.1,
  lunch: { at: "12:15", spread: "0.35h", share: 0.6, duration: { median: "38m", sigma: 0.3 }, groups: 0.35 },
  floor_uses: 1.5,
  denied,
  other_method: 0.08
} as const

/** With turnstiles and without. */
export const turnstileTailgating = { with: 0.02, without: 0.1 } as const

const employees = employeeDefaults

export const employeeParameters = Schema.Struct({
  attendance: parameter(
    WeekOfShares,
    employees.attendance,
    "Share of the employees who come; holidays are kept like Sundays",
    "against February 2020 in 2,600 buildings (Kastle): Tuesday 60.6 to 63.5 %, Friday 33 to 36 %; Monday and Thursday interpolated"
  ),
  day_variation: parameter(
    Share,
    employees.day_variation,
    dayFactor,
    "shape as for outsiders; value assumed, 0.15 to 0.20"
  ),
  arrives: parameter(
    ClockTimeValue,
    employees.arrives,
    "When they come. The busiest five minutes have a share of 1/(30.08 x spread in hours) of the people",
    "80 % of the people within one hour (Barney's up-peak template): 8.1 % in five minutes; BCO 2014 designs for 12 %, measured peaks are lower (Peters, Smith, Evans 2011). Poisson arrivals: Alexandris 1977, Peters et al. 2015"
  ),
  leaves: parameter(ClockTimeValue, employees.leaves, "When they leave"),
  arrival_groups: parameter(
    GroupShare,
    employees.arrival_groups,
    "Probability that the next to come walks in with the last (geometric group sizes)",
    "compound Poisson, mostly single in the morning (Kuusinen et al. 2009, 2011); value assumed"
  ),
  lunch: parameter(
    Schema.Struct({
      at: Schema.optionalKey(Clock),
      spread: Schema.optionalKey(Duration),
      share: Schema.optionalKey(Share),
      duration: Schema.optionalKey(LognormalValue),
      groups: Schema.optionalKey(GroupShare)
    }),
    employees.lunch,
    "When they go out to lunch, which share of them, how long, and the probability that the next goes along",
    "BCO 2014 designs for 13 % in five minutes, 45 % in each direction; larger groups at noon (Kuusinen et al.); values assumed"
  ),
  floor_uses: parameter(
    Rate,
    employees.floor_uses,
    "Times a day that somebody comes back to the floor from elsewhere in the house; people differ, with a heavy tail",
    absences
  ),
  tailgating: parameter(
    Share,
    undefined,
    "Share of those right behind somebody else who slip through without an event: 0.02 with turnstiles, 0.10 without",
    tailgating
  ),
  denied: parameter(Denied, employees.denied, deniedText),
  other_method: parameter(Share, employees.other_method, otherMethod)
}).annotate({ description: "People who work here" })
