/**
 * The flows that a house of flats and an office house usually have, with numbers scaled to their size.
 *
 * Figures with a source: three visitors a flat and week (a survey of 1,103 people), 33 parcels a person and year (a
 * property-management survey), delivered 9 to 18 on weekdays (Logistics 2024, 8(2):47), food at 11-13 and 17-21. All
 * others are assumed: there is no public data on intercom calls. A scenario is plausible, not measured.
 */
import type { DayShape } from "../traffic/DayShape.ts"
import { employeeFlow } from "../traffic/Employees.ts"
import type { EmployeeFlow } from "../traffic/Employees.ts"
import type { Flow } from "../traffic/Flow.ts"
import type { OutsiderFlow } from "../traffic/Outsiders.ts"
import { residentFlow } from "../traffic/Residents.ts"
import { ringBehaviour } from "../traffic/Visit.ts"
import type { Building, Use } from "../world/Building.ts"

/** What outsiders have in common unless their flow says otherwise. */
const outsiders = { _tag: "Outsiders", day_variation: 0.18, ...ringBehaviour } as const

const parcelTimes: DayShape = { from: 9, to: 18, even: 0.4, peaks: [{ at: 11.5, spread: 1.6, weight: 0.6 }] }

const weekdayVisits: DayShape = {
  from: 8,
  to: 23,
  even: 0.35,
  peaks: [{ at: 18.75, spread: 1.6, weight: 0.65 }]
}

const weekendVisits: DayShape = { from: 9, to: 24, even: 0.35, peaks: [{ at: 15.5, spread: 2.6, weight: 0.65 }] }

const foodTimes: DayShape = {
  from: 11,
  to: 23,
  even: 0.08,
  peaks: [
    { at: 12.4, spread: 0.6, weight: 0.27 },
    { at: 19.25, spread: 1, weight: 0.65 }
  ]
}

const lunchTimes: DayShape = { from: 11, to: 20, even: 0.06, peaks: [{ at: 12.1, spread: 0.45, weight: 0.94 }] }

const tradeTimes: DayShape = { from: 7, to: 17, even: 0.5, peaks: [{ at: 8.75, spread: 1, weight: 0.5 }] }

const meetingTimes: DayShape = {
  from: 7.5,
  to: 18,
  even: 0.25,
  peaks: [
    { at: 9.9, spread: 0.6, weight: 0.4 },
    { at: 13.9, spread: 0.7, weight: 0.35 }
  ]
}

const trades = (use: Use, per_day: number): OutsiderFlow => ({
  ...outsiders,
  name: "trades",
  use,
  notification_type: "visitor",
  per_day,
  weekdays: [0.05, 1.3, 1.3, 1.3, 1.3, 1.25, 0.5],
  on_weekdays: tradeTimes,
  on_weekends: tradeTimes,
  code: 0.4,
  code_methods: [["pin", 1]],
  code_name: null,
  main_entrance: 0.7
})

const sizeOf = (building: Building, use: Use) => ({
  units: building.units.filter((unit) => unit.use === use).length,
  people: building.people.filter(({ unit }) => unit.use === use).length
})

/** Credential holders are this share of the dwellers. */
const holders = 0.8

export const homeFlows = (building: Building): ReadonlyArray<Flow> => {
  const { units, people } = sizeOf(building, "home")
  const dwellers = people / holders
  return [
    residentFlow,
    {
      ...outsiders,
      name: "visitors",
      use: "home",
      notification_type: "visitor",
      per_day: (units * 3) / 7,
      weekdays: [1.35, 0.8, 0.8, 0.85, 0.9, 1.05, 1.25],
      on_weekdays: weekdayVisits,
      on_weekends: weekendVisits,
      code: 0.12,
      code_methods: [["qr_code", 0.7]],
      code_name: null,
      main_entrance: 0.85
    },
    {
      ...outsiders,
      name: "parcels",
      use: "home",
      notification_type: "delivery",
      per_day: (dwellers * 33) / 365,
      weekdays: [0.3, 1.15, 1.2, 1.2, 1.2, 1.15, 0.8],
      on_weekdays: parcelTimes,
      on_weekends: parcelTimes,
      code: 0.35,
      code_methods: [["qr_code", 0.2]],
      code_name: "Courier",
      main_entrance: 0.8
    },
    {
      ...outsiders,
      name: "food",
      use: "home",
      notification_type: "delivery",
      per_day: dwellers * 0.05,
      weekdays: [1.25, 0.8, 0.8, 0.85, 0.9, 1.2, 1.2],
      on_weekdays: foodTimes,
      on_weekends: foodTimes,
      // Whoever ordered waits for the bell.
      answered: 0.93,
      code: 0.04,
      code_methods: [["pin", 1]],
      code_name: "Courier",
      main_entrance: 0.9
    },
    trades("home", units * 0.02)
  ]
}

/** Differences to the usual employees: `exits_logged` is false where there are no turnstiles. */
export const companyFlows = (building: Building, employees: Partial<EmployeeFlow> = {}): ReadonlyArray<Flow> => {
  const { people } = sizeOf(building, "company")
  // Somebody sits at the reception.
  const staffed = { ...outsiders, answered: 0.94, answer_seconds: { median: 6, sigma: 0.5 } }
  return [
    { ...employeeFlow, ...employees },
    {
      ...staffed,
      name: "guests",
      use: "company",
      notification_type: "visitor",
      per_day: people * 0.035,
      weekdays: [0.02, 1.35, 1.6, 1.6, 1.4, 0.95, 0.08],
      on_weekdays: meetingTimes,
      on_weekends: meetingTimes,
      code: 0.3,
      code_methods: [["qr_code", 0.9]],
      code_name: null,
      main_entrance: 1
    },
    {
      ...staffed,
      name: "office_parcels",
      use: "company",
      notification_type: "delivery",
      per_day: people * 0.02,
      weekdays: [0, 1.4, 1.4, 1.4, 1.4, 1.3, 0.1],
      on_weekdays: parcelTimes,
      on_weekends: parcelTimes,
      code: 0.3,
      code_methods: [["pin", 1]],
      code_name: "Courier",
      main_entrance: 0.35
    },
    {
      ...staffed,
      name: "office_food",
      use: "company",
      notification_type: "delivery",
      per_day: people * 0.025,
      weekdays: [0.02, 1.4, 1.55, 1.55, 1.45, 0.98, 0.05],
      on_weekdays: lunchTimes,
      on_weekends: lunchTimes,
      code: 0,
      code_methods: [],
      code_name: null,
      main_entrance: 1
    }
  ]
}

/** Trades for an office house, where nobody lives who would let them in. */
export const companyTrades = (building: Building): Flow => trades("company", sizeOf(building, "company").people * 0.006)
