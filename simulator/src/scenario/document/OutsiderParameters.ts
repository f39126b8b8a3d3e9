/**
 * Visitors, couriers, guests and trades: the parameters of their flows, with defaults and sources.
 */
import { Schema } from "effect"
import { assumed, parameter } from "./Parameter.ts"
import type { FullLognormal, FullWeek } from "./Values.ts"
import {
  DayShapeValue,
  Duration,
  GroupShare,
  LognormalValue,
  NotNegative,
  SeasonValue,
  Share,
  WeekOfNumbers,
  wholeBetween
} from "./Values.ts"

/** All parameters of a flow of outsiders, none left out. */
export interface FullOutsiders {
  readonly rate: number
  readonly weekdays: FullWeek
  readonly day_variation: number
  readonly on_weekdays: typeof DayShapeValue.Type
  readonly on_weekends: typeof DayShapeValue.Type
  readonly seasons: ReadonlyArray<typeof SeasonValue.Type>
  readonly groups: number
  readonly code: number
  readonly qr_share: number
  readonly main_entrance: number
  readonly answered: number
  readonly answer: FullLognormal
  readonly ring_out: string
  readonly unlocked: number
  readonly unlock: FullLognormal
  readonly repeated: number
  readonly most_rings: number
}

/** Where the numbers of a flow come from, where they are not assumed. */
interface Sources {
  readonly per: string
  readonly rate: string
  readonly times: string
  readonly seasons?: string
}

/** The schema of one flow of outsiders. */
const outsiderParameters = (usual: FullOutsiders, what: string, sources: Sources) =>
  Schema.Struct({
    rate: parameter(
      NotNegative,
      usual.rate,
      `Arrivals a day, per ${sources.per}, on a day whose weekday factor is 1`,
      sources.rate
    ),
    weekdays: parameter(
      WeekOfNumbers,
      usual.weekdays,
      "Factor of each day of the week; holidays are kept like Sundays"
    ),
    day_variation: parameter(
      Share,
      usual.day_variation,
      "Coefficient of variation of the day factor (gamma with mean 1): how much busier or quieter days of one kind are",
      "shape: Gamma-Poisson models of call centres (Brown, Zhao, Shen, Mandelbaum 2004); value assumed, 0.15 to 0.20"
    ),
    on_weekdays: parameter(
      DayShapeValue,
      usual.on_weekdays,
      "How arrivals spread over a weekday, by the clock on the wall",
      sources.times
    ),
    on_weekends: parameter(DayShapeValue, usual.on_weekends, "The same on weekends and holidays", sources.times),
    seasons: parameter(
      Schema.Array(SeasonValue).check(Schema.isMaxLength(24)),
      usual.seasons,
      "Parts of every year with so many times as many arrivals, both ends included",
      sources.seasons ?? assumed
    ),
    groups: parameter(
      GroupShare,
      usual.groups,
      "Probability that one more comes along (geometric group sizes); with a code each enters on their own, a second or two apart",
      "batches: lobby studies (Kuusinen et al. 2009, 2011); value assumed"
    ),
    code: parameter(Share, usual.code, "Share of arrivals that have a code and do not ring"),
    qr_share: parameter(Share, usual.qr_share, "Share of codes that are QR codes; the others are PINs"),
    main_entrance: parameter(
      Share,
      usual.main_entrance,
      "Share that goes to the main entrance; the others to any panel"
    ),
    answered: parameter(Share, usual.answered, "Probability that a call is answered"),
    answer: parameter(LognormalValue, usual.answer, "From the ring to the answer"),
    ring_out: parameter(Duration, usual.ring_out, "How long it rings before it gives up"),
    unlocked: parameter(Share, usual.unlocked, "Probability that an answered call ends with an open door"),
    unlock: parameter(
      LognormalValue,
      usual.unlock,
      "From the answer to the open door",
      "the pulse of a door opener is 3 to 7 s (installers' guide); rest assumed"
    ),
    repeated: parameter(
      Share,
      usual.repeated,
      "Probability that somebody who was not answered rings again within a minute"
    ),
    most_rings: parameter(wholeBetween(1, 10), usual.most_rings, "The most rings of one visit")
  }).annotate({ description: what })

const flat = (value: number): FullWeek => ({
  mon: value,
  tue: value,
  wed: value,
  thu: value,
  fri: value,
  sat: value,
  sun: value
})

const ring = {
  day_variation: 0.18,
  seasons: [],
  groups: 0,
  answered: 0.75,
  answer: { median: "9s", sigma: 0.6 },
  ring_out: "30s",
  unlocked: 0.9,
  unlock: { median: "4s", sigma: 0.7 },
  repeated: 0.35,
  most_rings: 3
} as const

/** Somebody sits at the reception. */
const staffed = { ...ring, answered: 0.94, answer: { median: "6s", sigma: 0.5 } } as const

const parcelTimes = { from: "09:00", to: "18:00", even: 0.4, peaks: [{ at: "11:30", spread: "1.6h", weight: 0.6 }] }
const foodTimes = {
  from: "11:00",
  to: "23:00",
  even: 0.08,
  peaks: [
    { at: "12:24", spread: "0.6h", weight: 0.27 },
    { at: "19:15", spread: "1h", weight: 0.65 }
  ]
}
const lunchTimes = { from: "11:00", to: "20:00", even: 0.06, peaks: [{ at: "12:06", spread: "0.45h", weight: 0.94 }] }
const tradeTimes = { from: "07:00", to: "17:00", even: 0.5, peaks: [{ at: "08:45", spread: "1h", weight: 0.5 }] }
const meetingTimes = {
  from: "07:30",
  to: "18:00",
  even: 0.25,
  peaks: [
    { at: "09:54", spread: "0.6h", weight: 0.4 },
    { at: "13:54", spread: "0.7h", weight: 0.35 }
  ]
}

const christmas = [{ from: "12-01", to: "12-24", factor: 1.8 }]

export const outsiderDefaults = {
  visitors: {
    ...ring,
    // Three a flat and week.
    rate: 0.4286,
    weekdays: { sun: 1.35, mon: 0.8, tue: 0.8, wed: 0.85, thu: 0.9, fri: 1.05, sat: 1.25 },
    on_weekdays: { from: "08:00", to: "23:00", even: 0.35, peaks: [{ at: "18:45", spread: "1.6h", weight: 0.65 }] },
    on_weekends: { from: "09:00", to: "24:00", even: 0.35, peaks: [{ at: "15:30", spread: "2.6h", weight: 0.65 }] },
    groups: 0.25,
    code: 0.12,
    qr_share: 0.7,
    main_entrance: 0.85
  },
  parcels: {
    ...ring,
    // 33 a person and year.
    rate: 0.0904,
    weekdays: { sun: 0.3, mon: 1.15, tue: 1.2, wed: 1.2, thu: 1.2, fri: 1.15, sat: 0.8 },
    on_weekdays: parcelTimes,
    on_weekends: parcelTimes,
    seasons: christmas,
    code: 0.35,
    qr_share: 0.2,
    main_entrance: 0.8
  },
  food: {
    ...ring,
    rate: 0.05,
    weekdays: { sun: 1.25, mon: 0.8, tue: 0.8, wed: 0.85, thu: 0.9, fri: 1.2, sat: 1.2 },
    on_weekdays: foodTimes,
    on_weekends: foodTimes,
    // Whoever ordered waits for the bell.
    answered: 0.93,
    code: 0.04,
    qr_share: 0,
    main_entrance: 0.9
  },
  guests: {
    ...staffed,
    rate: 0.035,
    weekdays: { sun: 0.02, mon: 1.35, tue: 1.6, wed: 1.6, thu: 1.4, fri: 0.95, sat: 0.08 },
    on_weekdays: meetingTimes,
    on_weekends: meetingTimes,
    groups: 0.3,
    code: 0.3,
    qr_share: 0.9,
    main_entrance: 1
  },
  office_parcels: {
    ...staffed,
    rate: 0.02,
    weekdays: { ...flat(1.4), fri: 1.3, sat: 0.1, sun: 0 },
    on_weekdays: parcelTimes,
    on_weekends: parcelTimes,
    seasons: christmas,
    code: 0.3,
    qr_share: 0,
    main_entrance: 0.35
  },
  office_food: {
    ...staffed,
    rate: 0.025,
    weekdays: { sun: 0.02, mon: 1.4, tue: 1.55, wed: 1.55, thu: 1.45, fri: 0.98, sat: 0.05 },
    on_weekdays: lunchTimes,
    on_weekends: lunchTimes,
    code: 0,
    qr_share: 0,
    main_entrance: 1
  },
  trades: {
    ...ring,
    rate: 0.02,
    weekdays: { ...flat(1.3), fri: 1.25, sat: 0.5, sun: 0.05 },
    on_weekdays: tradeTimes,
    on_weekends: tradeTimes,
    code: 0.4,
    qr_share: 0,
    main_entrance: 0.7
  }
} as const satisfies Record<string, FullOutsiders>

const foodSource = "lunch 11 to 13 and evening 17 to 21 (couriers' guide); shape assumed"
const parcelWindow = "9 to 18 on weekdays (Christchurch study, Logistics 2024, 8(2):47); mode assumed"

/** The schemas of all flows of outsiders. */
export const outsiderFlows = {
  visitors: outsiderParameters(outsiderDefaults.visitors, "Visitors of homes", {
    per: "flat",
    rate: "three outside visitors a flat and week (Kivala survey, 1,103 people)",
    times: assumed
  }),
  parcels: outsiderParameters(outsiderDefaults.parcels, "Couriers with parcels for homes", {
    per: "dweller",
    rate: "33 parcels a person and year (property managers' figures, 2019)",
    times: parcelWindow,
    seasons: "150 parcels a week, 270 before the holidays (NMHC/Kingsley survey); dates assumed"
  }),
  food: outsiderParameters(outsiderDefaults.food, "Food delivered to homes", {
    per: "dweller",
    rate: assumed,
    times: foodSource
  }),
  guests: outsiderParameters(outsiderDefaults.guests, "Guests of companies", {
    per: "employee",
    rate: assumed,
    times: assumed
  }),
  office_parcels: outsiderParameters(outsiderDefaults.office_parcels, "Couriers with parcels for companies", {
    per: "employee",
    rate: assumed,
    times: parcelWindow,
    seasons: "as for homes"
  }),
  office_food: outsiderParameters(outsiderDefaults.office_food, "Food delivered to companies", {
    per: "employee",
    rate: assumed,
    times: foodSource
  }),
  trades: outsiderParameters(
    outsiderDefaults.trades,
    "Trades: cleaning, repairs, meters. In a house with homes per flat, else per three employees",
    {
      per: "flat",
      rate: assumed,
      times: assumed
    }
  )
} as const
