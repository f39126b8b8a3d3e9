/**
 * Visitors, couriers, guests and trades: what their flows are like where a scenario does not say.
 */
import type { DayShapeValue, FullLognormal, FullWeek, SeasonValue } from "./Values.ts"

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
