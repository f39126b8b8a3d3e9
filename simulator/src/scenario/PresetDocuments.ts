/**
 * The scenarios that come with doorhook, as the documents that a scenario file could be.
 */
import type { BuildingDocument, ScenarioDocument } from "./document/ScenarioDocument.ts"

/** Public holidays of Germany: those of every year, and Easter's of some. */
const holidays = [
  "01-01",
  "05-01",
  "10-03",
  "12-25",
  "12-26",
  "2025-04-18",
  "2025-04-21",
  "2025-05-29",
  "2025-06-09",
  "2026-04-03",
  "2026-04-06",
  "2026-05-14",
  "2026-05-25",
  "2027-03-26",
  "2027-03-29",
  "2027-05-06",
  "2027-05-17",
  "2028-04-14",
  "2028-04-17",
  "2028-05-25",
  "2028-06-05"
]

const here = { time_zone: "Europe/Berlin", holidays } as const

const gardenCourt: BuildingDocument = { ...here, name: "Garden Court", homes: { flats: 200 } }

const stationHouse: BuildingDocument = {
  ...here,
  name: "Station House",
  offices: { employees: 1_000, companies: 18 }
}

export const presetDocuments = {
  "residential-200": {
    name: "residential-200",
    description: "A house of 200 flats",
    events_per_day: 700,
    buildings: [gardenCourt]
  },
  "office-1000": {
    name: "office-1000",
    description: "An office house of 1,000 employees with turnstiles",
    events_per_day: 2640,
    buildings: [stationHouse]
  },
  "mixed-use": {
    name: "mixed-use",
    description: "60 flats above 8 companies of 150 employees, without turnstiles",
    events_per_day: 510,
    buildings: [
      {
        ...here,
        name: "Market Square",
        homes: { flats: 60 },
        offices: { employees: 150, companies: 8, turnstiles: false }
      }
    ]
  },
  "holiday-peak": {
    name: "holiday-peak",
    description: "The house of 200 flats in the weeks before Christmas, whatever the date: 1.8 times the parcels",
    events_per_day: 810,
    buildings: [
      {
        ...gardenCourt,
        flows: {
          parcels: { rate: 0.163, seasons: [], weekdays: { sat: 1.1 } },
          visitors: { rate: 0.55 },
          food: { rate: 0.065 }
        }
      }
    ]
  },
  "courier-storm": {
    name: "courier-storm",
    description: "Six times the parcels and four times the food: a day of sales over 150 flats and 300 employees",
    events_per_day: 1580,
    buildings: [
      {
        ...here,
        name: "Canal Yard",
        homes: { flats: 150 },
        offices: { employees: 300, companies: 12, turnstiles: false },
        flows: {
          parcels: { rate: 0.54, seasons: [] },
          food: { rate: 0.2 },
          office_parcels: { rate: 0.12, seasons: [] },
          office_food: { rate: 0.1 }
        }
      }
    ]
  },
  "controller-offline-flush": {
    name: "controller-offline-flush",
    description:
      "A house of 200 flats whose controllers are offline twice a day, send late and out of order, some with wrong clocks",
    events_per_day: 690,
    buildings: [
      {
        ...gardenCourt,
        devices: {
          outages: { every: "12h", down: { median: "25m", sigma: 0.8 } },
          flush: { per_second: 20, jitter: "5s" },
          clocks: { deviation: "200ms", wrong: 0.25, wrong_deviation: "90s" }
        }
      }
    ]
  },
  quiet: {
    name: "quiet",
    description: "A house of 12 flats",
    events_per_day: 43,
    buildings: [{ ...here, name: "Mill Lane", homes: { flats: 12, per_floor: 3 } }]
  },
  campus: {
    name: "campus",
    description: "Six office houses of 300 employees and two houses of 80 flats",
    events_per_day: 5360,
    buildings: [
      { ...here, name: "Campus", copies: 6, offices: { employees: 300, companies: 6 } },
      { ...here, name: "Residence", copies: 2, homes: { flats: 80 } }
    ]
  },
  "night-watch": {
    name: "night-watch",
    description: "An office house of 120 employees with much that is out of the ordinary, for whoever tries to find it",
    events_per_day: 340,
    buildings: [
      {
        ...here,
        name: "Depot",
        offices: { employees: 120, companies: 4 },
        anomalies: {
          buzzer_spam: 15,
          stuck_button: 6,
          pin_guessing: 15,
          shared_credential: 15,
          door_held: 30,
          door_forced: 6,
          night_entry: 45
        }
      }
    ]
  },
  "first-monday": {
    name: "first-monday",
    description: "The office house of 1,000 employees when everybody is back: 85 to 92 % come",
    events_per_day: 4230,
    buildings: [
      {
        ...stationHouse,
        flows: {
          employees: { attendance: { mon: 0.92, tue: 0.9, wed: 0.9, thu: 0.88, fri: 0.85 }, day_variation: 0.02 },
          guests: { rate: 0.05 }
        }
      }
    ]
  }
} as const satisfies Record<string, ScenarioDocument>
