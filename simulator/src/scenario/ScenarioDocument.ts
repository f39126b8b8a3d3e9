/**
 * A scenario as it is written in a file (`--scenario FILE.json`), and how it is decoded.
 *
 * Only what is there has to be stated: buildings with their size. Every parameter of the traffic has a default, stated once
 * with its source; the published JSON Schema is made of these.
 */
import { Record, Schema } from "effect"
import { AnomalyParameters } from "../traffic/Anomalies.ts"
import { EmployeeParameters } from "../traffic/Employees.ts"
import { outsiderDefaults } from "../traffic/OutsiderDefaults.ts"
import { OutsiderParameters } from "../traffic/Outsiders.ts"
import {
  Clock,
  Duration,
  HolidayDate,
  Interval,
  lognormalOf,
  parameter,
  Rate,
  Share,
  ShortDuration,
  usually,
  wholeBetween
} from "../traffic/Parameter.ts"
import { ResidentParameters } from "../traffic/Residents.ts"
import { CleanerParameters, GuardParameters } from "../traffic/Staff.ts"
import { buildingUses } from "../world/Building.ts"
import { expectedZone, timeZone } from "../world/zones/TimeZone.ts"

const Text = Schema.String.check(Schema.isNonEmpty({ message: "must not be empty" }))

const setting = "a setting"

/** Room in the ids of a building, and of events. */
export const mostFlats = 400
export const mostCompanies = 90
const mostCopies = 0x200

const methods = (swipe_to_open: number, pin: number, qr_code: number) => {
  const usual = { swipe_to_open, pin, qr_code }
  const Shares = Schema.Struct({ swipe_to_open: Share, pin: Share, qr_code: Share })
  const isSome = Schema.makeFilter(
    (shares: typeof Shares.Type) => Object.values(shares).some((share) => share > 0) || "must have a share above 0"
  )
  return parameter(
    Shares.pipe(Schema.decodeTo(Shares.check(isSome))),
    usual,
    "How holders of credentials usually open doors: shares of the app (swipe to open), PIN and QR code"
  )
}

const Homes = Schema.Struct({
  flats: wholeBetween(1, mostFlats).annotate({
    description: "Number of flats. Dwellers by size of flat: 1.5, 1.8, 3.0, 4.0 (CIBSE Guide D, table 3.12)"
  }),
  per_floor: parameter(wholeBetween(1, 20), 4, "Flats on one floor, for their labels"),
  entry_methods: methods(0.68, 0.28, 0.04),
  turnover: parameter(
    Share,
    0.12,
    "Share of the households that move out in a year; a flat is empty for up to 45 days, then others live there",
    "11.5 % of US residents moved in a year, 24.5 % of those who rent (Census Bureau, 2014)"
  )
}).annotate({ description: "Flats and the people who live in them" })

const Offices = Schema.Struct({
  employees: wholeBetween(1, 20_000).annotate({ description: "Number of employees who hold a credential" }),
  companies: parameter(wholeBetween(1, mostCompanies), 8, "Number of companies, each behind a door of its own"),
  turnstiles: parameter(
    Schema.Boolean,
    true,
    "Whether the lobby has turnstiles: then leaving is logged too, and few slip through"
  ),
  cleaners: Schema.optionalKey(
    wholeBetween(0, 500).annotate({ description: "Number of cleaners; by default one for 60 employees, from 30 on" })
  ),
  guards: Schema.optionalKey(
    wholeBetween(0, 50).annotate({
      description: "Number of guards; one of them is there each night. By default three from 300 employees on"
    })
  ),
  entry_methods: methods(0.8, 0.14, 0.06),
  turnover: parameter(Share, 0.15, "Share of the people who are replaced in a year, after up to 45 days")
}).annotate({ description: "Companies and the people who work in them" })

const Outages = Schema.Struct({
  every: usually(Interval, "30d"),
  down: lognormalOf(Duration, { median: "4m", sigma: 1 }, "How long it lasts")
})

const Flush = Schema.Struct({
  per_second: usually(wholeBetween(1, 10_000), 20),
  jitter: usually(ShortDuration, "500ms")
})

const Clocks = Schema.Struct({
  deviation: usually(Duration, "0s"),
  wrong: usually(Share, 0),
  wrong_deviation: usually(Duration, "90s"),
  drift: usually(Rate, 20),
  set_every: usually(Interval, "90d")
})

const DeviceParameters = Schema.Struct({
  outages: parameter(
    Outages,
    { every: "30d", down: { median: "4m", sigma: 1 } },
    "How often a controller (four doors and their panels) is offline, on average, and for how long. Openings are kept and sent when it is back, calls are not possible. Controllers restart each night between three and five by the clock on the wall, which ends an outage. `every` is 1m or more, or 0s for never"
  ),
  flush: parameter(
    Flush,
    { per_second: 20, jitter: "500ms" },
    "How fast a controller sends what it has kept, and how much later than its turn each event may come (out of order), at most 1h"
  ),
  clocks: parameter(
    Clocks,
    { deviation: "0s", wrong: 0, wrong_deviation: "90s", drift: 20, set_every: "90d" },
    "Controllers' clocks: their standard deviation after they were set, each night and after each outage; the share of clocks that nobody keeps, their standard deviation when they are set by hand, and how often; the standard deviation of what they run fast or slow in between, in millionths. Shows in logged_at",
    "20 millionths are usual for quartz crystals; rest assumed"
  )
}).annotate({ description: "Devices that are offline, send later, and have wrong clocks" })
export type Devices = Readonly<typeof DeviceParameters.Type>

const OpeningHours = Schema.Struct({ from: Clock, to: Clock })
export type OpeningHours = typeof OpeningHours.Type

const isZone = Schema.makeFilter((name: string) => timeZone(name) !== null || `must be ${expectedZone}`)

const TimeZoneName = parameter(
  Schema.String.pipe(Schema.decodeTo(Schema.String.check(isZone))),
  "UTC",
  "IANA name. People keep to the clock on the wall, also when it is put forward or back",
  setting
)

const Flows = Schema.Struct({
  residents: parameter(ResidentParameters, {}, "People who live here", setting),
  employees: parameter(EmployeeParameters, {}, "People who work here", setting),
  cleaners: parameter(CleanerParameters, {}, "Cleaners of a building with offices", setting),
  guards: parameter(GuardParameters, {}, "Guards of a building with offices: one of them each night", setting),
  ...Record.map(OutsiderParameters, (parameters, name) =>
    parameter(parameters, {}, outsiderDefaults[name].what, setting)
  )
})

export const BuildingDocument = Schema.Struct({
  name: Text.annotate({ description: "Its name" }),
  id: Schema.optionalKey(
    wholeBetween(1, 9_000_000).annotate({
      description: "Its id, its place in the list by default. Ids of doors, units and tenants begin at id * 1000 + 1"
    })
  ),
  copies: parameter(
    wholeBetween(1, mostCopies),
    1,
    "How many buildings like this there are, with ids that follow and people of their own",
    setting
  ),
  time_zone: TimeZoneName,
  use: Schema.optionalKey(
    Schema.Literals(buildingUses).annotate({
      description:
        "What it is for, by which `simulate validate` judges its traffic: office, residential, hotel, hospital or mixed; by default what its homes and offices say"
    })
  ),
  opening_hours: Schema.optionalKey(
    OpeningHours.annotate({
      description:
        "When it is open (`from`, `to`), where that differs from what its use says: `simulate validate` then looks for the quiet hours outside of these"
    })
  ),
  homes: Schema.optionalKey(Homes),
  offices: Schema.optionalKey(Offices),
  holidays: parameter(
    Schema.Array(HolidayDate).check(Schema.isMaxLength(1_000)),
    [],
    "Days that are kept like Sundays: of one year (2026-04-06) or of every year (12-25)",
    setting
  ),
  flows: parameter(
    Flows,
    {},
    "What differs from the usual flows. A building with homes has residents, visitors, parcels, food and trades; one with offices employees, cleaners, guards, guests, office_parcels, office_food and trades",
    setting
  ),
  anomalies: parameter(
    AnomalyParameters,
    {},
    "How often things out of the ordinary happen: times in thirty days, in a building",
    setting
  ),
  devices: parameter(DeviceParameters, {}, "Devices that are offline, send later, and have wrong clocks", setting)
})
export type BuildingDocument = typeof BuildingDocument.Type

export const ScenarioDocument = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String.annotate({ description: "Where this schema is, for editors" })),
  name: Text.annotate({ description: "Its name" }),
  description: parameter(Schema.String, "", "What it is, in one line", setting),
  events_per_day: Schema.optionalKey(
    Schema.Finite.check(
      Schema.isBetween({ minimum: 0, maximum: 1e7 }, { message: "must be a number from 0 to 10000000" })
    ).annotate({ description: "Events that an average day of a usual week has, for readers" })
  ),
  buildings: Schema.Array(BuildingDocument)
    .annotate({ description: "The buildings" })
    .check(
      Schema.isMinLength(1, { message: "must have at least one building" }),
      Schema.isMaxLength(mostCopies, { message: `must have at most ${mostCopies} buildings` })
    )
})
export type ScenarioDocument = typeof ScenarioDocument.Type
