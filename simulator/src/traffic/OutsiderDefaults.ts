/** Default behaviour of visitors, couriers, guests and trades, with the sources of the figures. */
import type { CallData } from "@doorhook/core"
import type { UnitUse } from "../world/Building.ts"
import type { DayShapeFields, Week } from "./Parameter.ts"
import { assumed } from "./Parameter.ts"

interface Usual {
  readonly rate: number
  readonly weekdays: Week
  readonly day_variation: number
  readonly on_weekdays: typeof DayShapeFields.Encoded
  readonly on_weekends: typeof DayShapeFields.Encoded
  readonly seasons: ReadonlyArray<{ readonly from: string; readonly to: string; readonly factor: number }>
  readonly groups: number
  readonly code: number
  readonly qr_share: number
  readonly main_entrance: number
  readonly answered: number
  readonly answer: { readonly median: string; readonly sigma: number }
  readonly ring_out: string
  readonly unlocked: number
  readonly unlock: { readonly median: string; readonly sigma: number }
  readonly repeated: number
  readonly most_rings: number
}

export interface OutsiderUsual {
  readonly what: string
  readonly use: UnitUse
  readonly notification_type: CallData["notification_type"]
  readonly code_name: string | null
  readonly sources: {
    readonly per: "flat" | "dweller" | "employee"
    readonly rate: string
    readonly times: string
    readonly seasons?: string
  }
  readonly usual: Usual
}

const ring = {
  day_variation: 0.18,
  seasons: [],
  groups: 0,
  qr_share: 0,
  answered: 0.75,
  answer: { median: "9s", sigma: 0.6 },
  ring_out: "30s",
  unlocked: 0.9,
  unlock: { median: "4s", sigma: 0.7 },
  repeated: 0.35,
  most_rings: 3
} as const

/** Calls in a building with a staffed reception. */
const staffed = { ...ring, answered: 0.94, answer: { median: "6s", sigma: 0.5 } } as const

const sameEveryDay = (times: typeof DayShapeFields.Encoded) => ({ on_weekdays: times, on_weekends: times })

const parcelTimes = { from: "09:00", to: "18:00", even: 0.4, peaks: [{ at: "11:30", spread: "1.6h", weight: 0.6 }] }
const lunchTimes = { from: "11:00", to: "20:00", even: 0.06, peaks: [{ at: "12:06", spread: "0.45h", weight: 0.94 }] }
const tradeTimes = { from: "07:00", to: "17:00", even: 0.5, peaks: [{ at: "08:45", spread: "1h", weight: 0.5 }] }
const foodTimes = {
  from: "11:00",
  to: "23:30",
  even: 0.08,
  peaks: [
    { at: "12:24", spread: "0.6h", weight: 0.27 },
    { at: "19:15", spread: "1h", weight: 0.65 }
  ]
}
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
const parcelWindow = "9 to 18 on weekdays (Christchurch study, Logistics 2024, 8(2):47); peak time assumed"
const foodWindow = "lunch 11 to 13 and evening 17 to 21 (couriers' guide); shape assumed"

const visit = { notification_type: "visitor", code_name: null } as const
const delivery = { notification_type: "delivery", code_name: "Courier" } as const

export const outsiderDefaults = {
  visitors: {
    ...visit,
    what: "Visitors of homes",
    use: "home",
    sources: {
      per: "flat",
      rate: "three outside visitors per flat and week (Kivala survey, 1,103 people)",
      times: assumed
    },
    usual: {
      ...ring,
      rate: 0.4286,
      weekdays: { sun: 1.35, mon: 0.8, tue: 0.8, wed: 0.85, thu: 0.9, fri: 1.05, sat: 1.25 },
      on_weekdays: { from: "08:00", to: "23:30", even: 0.35, peaks: [{ at: "18:45", spread: "1.6h", weight: 0.65 }] },
      on_weekends: { from: "09:00", to: "24:00", even: 0.35, peaks: [{ at: "15:30", spread: "2.6h", weight: 0.65 }] },
      groups: 0.25,
      code: 0.12,
      qr_share: 0.7,
      main_entrance: 0.85
    }
  },
  parcels: {
    ...delivery,
    what: "Couriers with parcels for homes",
    use: "home",
    sources: {
      per: "dweller",
      rate: "33 parcels per person and year (property managers' figures, 2019)",
      times: parcelWindow,
      seasons: "150 parcels a week, 270 before the holidays (NMHC/Kingsley survey); dates assumed"
    },
    usual: {
      ...ring,
      ...sameEveryDay(parcelTimes),
      rate: 0.0904,
      weekdays: { sun: 0.3, mon: 1.15, tue: 1.2, wed: 1.2, thu: 1.2, fri: 1.15, sat: 0.8 },
      seasons: christmas,
      code: 0.35,
      qr_share: 0.2,
      main_entrance: 0.8
    }
  },
  food: {
    ...delivery,
    what: "Food delivered to homes",
    use: "home",
    sources: { per: "dweller", rate: assumed, times: foodWindow },
    usual: {
      ...ring,
      ...sameEveryDay(foodTimes),
      rate: 0.05,
      weekdays: { sun: 1.25, mon: 0.8, tue: 0.8, wed: 0.85, thu: 0.9, fri: 1.2, sat: 1.2 },
      // People who ordered food wait for the bell.
      answered: 0.93,
      code: 0.04,
      main_entrance: 0.9
    }
  },
  guests: {
    ...visit,
    what: "Guests of companies",
    use: "company",
    sources: { per: "employee", rate: assumed, times: assumed },
    usual: {
      ...staffed,
      ...sameEveryDay(meetingTimes),
      rate: 0.035,
      weekdays: { sun: 0.02, mon: 1.35, tue: 1.6, wed: 1.6, thu: 1.4, fri: 0.95, sat: 0.08 },
      groups: 0.3,
      code: 0.3,
      qr_share: 0.9,
      main_entrance: 1
    }
  },
  office_parcels: {
    ...delivery,
    what: "Couriers with parcels for companies",
    use: "company",
    sources: { per: "employee", rate: assumed, times: parcelWindow, seasons: "as for homes" },
    usual: {
      ...staffed,
      ...sameEveryDay(parcelTimes),
      rate: 0.02,
      weekdays: { sun: 0, mon: 1.4, tue: 1.4, wed: 1.4, thu: 1.4, fri: 1.3, sat: 0.1 },
      seasons: christmas,
      code: 0.3,
      main_entrance: 0.35
    }
  },
  office_food: {
    ...delivery,
    code_name: null,
    what: "Food delivered to companies",
    use: "company",
    sources: { per: "employee", rate: assumed, times: foodWindow },
    usual: {
      ...staffed,
      ...sameEveryDay(lunchTimes),
      rate: 0.025,
      weekdays: { sun: 0.02, mon: 1.4, tue: 1.55, wed: 1.55, thu: 1.45, fri: 0.98, sat: 0.05 },
      code: 0,
      main_entrance: 1
    }
  },
  trades: {
    ...visit,
    what: "Trades: repairs, meters and, in residential buildings, cleaning. Counted per flat in a building with homes, else per three employees",
    use: "home",
    sources: { per: "flat", rate: assumed, times: assumed },
    usual: {
      ...ring,
      ...sameEveryDay(tradeTimes),
      rate: 0.02,
      weekdays: { sun: 0.05, mon: 1.3, tue: 1.3, wed: 1.3, thu: 1.3, fri: 1.25, sat: 0.5 },
      code: 0.4,
      main_entrance: 0.7
    }
  }
} as const satisfies Record<string, OutsiderUsual>
