/**
 * The form of a scenario file (`--scenario FILE.json`), and how it is decoded.
 *
 * Only the buildings and their sizes are required. Every traffic parameter has a default, stated once with its source.
 * The published JSON Schema is generated from these definitions.
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

/** Maximum number of buildings in a scenario: event ids have at most seventeen bits for the building. */
export const mostBuildings = 0x2_0000

const setting = "a setting"

/** Limits that follow from the size of ids. */
const mostFlats = 400
const mostCompanies = 90
const mostEntries = 0x200

const methods = (swipe_to_open: number, pin: number, qr_code: number) => {
  const usual = { swipe_to_open, pin, qr_code }
  const Shares = Schema.Struct({ swipe_to_open: Share, pin: Share, qr_code: Share })
  const isSome = Schema.makeFilter(
    (shares: typeof Shares.Type) => Object.values(shares).some((share) => share > 0) || "must have a share above 0"
  )
  return parameter(
    Shares.pipe(Schema.decodeTo(Shares.check(isSome))),
    usual,
    "Ways in which holders of credentials usually open doors: shares of the app (swipe to open), PIN and QR code"
  )
}

const Homes = Schema.Struct({
  flats: wholeBetween(1, mostFlats).annotate({
    description: "Number of flats. Dwellers by flat size: 1.5, 1.8, 3.0, 4.0 (CIBSE Guide D, table 3.12)"
  }),
  per_floor: parameter(wholeBetween(1, 20), 4, "Number of flats on a floor, for their labels"),
  entry_methods: methods(0.68, 0.28, 0.04),
  turnover: parameter(
    Share,
    0.12,
    "Share of the households that move out in a year; the flat is then empty for up to 45 days",
    "11.5 % of US residents moved in a year, 24.5 % of those who rent (Census Bureau, 2014)"
  )
}).annotate({ description: "Flats and the people who live in them" })

const Offices = Schema.Struct({
  employees: wholeBetween(1, 20_000).annotate({ description: "Number of employees who hold a credential" }),
  companies: parameter(wholeBetween(1, mostCompanies), 8, "Number of companies, each behind its own door"),
  turnstiles: parameter(
    Schema.Boolean,
    true,
    "Whether the lobby has turnstiles. If so, leaving is logged as well, and few people slip through"
  ),
  cleaners: Schema.optionalKey(
    wholeBetween(0, 500).annotate({ description: "Number of cleaners. Default: one per 60 employees, none below 30" })
  ),
  guards: Schema.optionalKey(
    wholeBetween(0, 50).annotate({
      description:
        "Number of guards; one of them is on duty each night. Default: three from 300 employees on, else none"
    })
  ),
  entry_methods: methods(0.8, 0.14, 0.06),
  turnover: parameter(Share, 0.15, "Share of the people who leave in a year; each is replaced within 45 days")
}).annotate({ description: "Companies and the people who work in them" })

const outage = (every: string, median: string, sigma: number) => {
  const down = { median, sigma }
  const fields = { every: usually(Interval, every), down: lognormalOf(Duration, down, "Duration of an outage") }
  return { fields, usual: { every, down } }
}
const ofController = outage("30d", "4m", 1)
const ofSite = outage("120d", "45m", 1.6)
const ofRegion = outage("180d", "40m", 1.2)

/** A struct whose members all have defaults, as a parameter with the same defaults. */
const group = <Fields extends Schema.Struct.Fields>(
  fields: Fields,
  usual: Schema.Struct<Fields>["Encoded"],
  description: string,
  source?: string
) => parameter(Schema.Struct(fields), usual, description, source)

const usualClocks = {
  resolution: "1s",
  deviation: "300ms",
  wrong: 0.02,
  wrong_deviation: "90s",
  drift: 20,
  set_every: "90d"
} as const
const usualDelay = { openings: { median: "600ms", sigma: 0.8 }, calls: { median: "150ms", sigma: 0.5 } } as const
const usualRepeats = { share: 0.001, new_id: 0.25, after: "30s" } as const
const usualAlarms = { held: 0.01, forced: 0.003 } as const

const DeviceParameters = Schema.Struct({
  outages: group(
    ofController.fields,
    ofController.usual,
    "How often a controller (four doors and their panels) is offline alone, on average, and for how long, at most 14d. An offline controller stores openings and sends them later; calls are not possible. `every` is 1m or more, or 0s for never"
  ),
  site_outages: group(
    ofSite.fields,
    ofSite.usual,
    "As `outages`, for the uplink of the whole building: every sixth outage lasts more than four hours, some last days",
    "vendors describe uplinks that fail for all controllers of a site, for up to months (Verkada); frequency and duration assumed"
  ),
  region_outages: group(
    { ...ofRegion.fields, return_within: usually(ShortDuration, "1m") },
    { ...ofRegion.usual, return_within: "1m" },
    "As `outages`, for all buildings of a `region` at the same time (a mobile network, or the vendor's cloud). Nineteen of twenty buildings are back `return_within` after its end, at most 1h"
  ),
  region: parameter(Schema.String, "", "Name of the building's region. Default: all buildings of a time zone", setting),
  buffer: parameter(
    wholeBetween(1, 100_000),
    10_000,
    "Number of events that an offline controller stores. When it is full, the oldest are lost",
    "2,000 (SAFR) to months of events (Verkada); value assumed"
  ),
  flush: group(
    { per_second: usually(wholeBetween(1, 10_000), 20), jitter: usually(ShortDuration, "500ms") },
    { per_second: 20, jitter: "500ms" },
    "Events per second that a controller sends after an outage, and the maximum random delay of each event (which can change their order), at most 1h"
  ),
  delay: group(
    {
      openings: lognormalOf(ShortDuration, usualDelay.openings, "Delay of openings"),
      calls: lognormalOf(ShortDuration, usualDelay.calls, "Delay of calls")
    },
    usualDelay,
    "Time from an opening or a call to its publication, while the controller is online",
    "openings arrive 0.1 to 5 s later (load tests of vendors' clouds); distribution assumed"
  ),
  repeats: group(
    { share: usually(Share, 0.001), new_id: usually(Share, 0.25), after: usually(ShortDuration, "30s") },
    usualRepeats,
    "Share of the openings that a controller uploads again because it lost the answer; the share of these that get a new id (labelled `repeated`); and the mean time until then"
  ),
  alarms: group(
    { held: usually(Share, 0.01), forced: usually(Share, 0.003) },
    usualAlarms,
    "Openings after which the door is held open (release_status Held open, 30 to 90 s later), and openings after which the door contact reports a forced door, as when somebody leaves without a request to exit. Shares of all openings"
  ),
  clocks: group(
    {
      resolution: usually(ShortDuration, "1s"),
      deviation: usually(Duration, "300ms"),
      wrong: usually(Share, 0.02),
      wrong_deviation: usually(Duration, "90s"),
      drift: usually(Rate, 20),
      set_every: usually(Interval, "90d")
    },
    usualClocks,
    "The controllers' clocks, which show in logged_at. `resolution`: unit of the times in the log. `deviation`: standard deviation after a clock is set, each night and after each outage. `wrong`: share of clocks that are set only by hand; `wrong_deviation` and `set_every`: their standard deviation and how often they are set. `drift`: standard deviation of the drift in between, in millionths",
    "20 millionths are usual for quartz crystals, whole seconds for controllers' logs; the rest is assumed"
  )
}).annotate({ description: "Devices and their faults: outages, late and repeated sending, alarms and wrong clocks" })
export type Devices = Readonly<typeof DeviceParameters.Type>

const OpeningHours = Schema.Struct({ from: Clock, to: Clock })
export type OpeningHours = typeof OpeningHours.Type

const isZone = Schema.makeFilter((name: string) => timeZone(name) !== null || `must be ${expectedZone}`)

const TimeZoneName = parameter(
  Schema.String.pipe(Schema.decodeTo(Schema.String.check(isZone))),
  "UTC",
  "IANA name. People keep to local time, including clock changes",
  setting
)

const Flows = Schema.Struct({
  residents: parameter(ResidentParameters, {}, "People who live here", setting),
  employees: parameter(EmployeeParameters, {}, "People who work here", setting),
  cleaners: parameter(CleanerParameters, {}, "Cleaners of a building with offices", setting),
  guards: parameter(
    GuardParameters,
    {},
    "Guards of a building with offices: one of them is on duty each night",
    setting
  ),
  ...Record.map(OutsiderParameters, (parameters, name) =>
    parameter(parameters, {}, outsiderDefaults[name].what, setting)
  )
})

export const BuildingDocument = Schema.Struct({
  name: Text.annotate({ description: "Name of the building" }),
  id: Schema.optionalKey(
    wholeBetween(1, 9_000_000).annotate({
      description:
        "Id of the building (default: position in the list). Ids of its doors, units and tenants begin at id * 1000 + 1"
    })
  ),
  copies: parameter(
    wholeBetween(1, mostBuildings),
    1,
    "Number of buildings like this one, with consecutive ids and their own people",
    setting
  ),
  time_zone: TimeZoneName,
  use: Schema.optionalKey(
    Schema.Literals(buildingUses).annotate({
      description:
        "Use of the building, by which `simulate validate` checks its traffic: office, residential, hotel, hospital or mixed. Default: derived from `homes` and `offices`"
    })
  ),
  opening_hours: Schema.optionalKey(
    OpeningHours.annotate({
      description:
        "Opening hours (`from`, `to`), if they differ from those usual for its use. `simulate validate` expects quiet hours outside of them"
    })
  ),
  homes: Schema.optionalKey(Homes),
  offices: Schema.optionalKey(Offices),
  holidays: parameter(
    Schema.Array(HolidayDate).check(Schema.isMaxLength(1_000)),
    [],
    "Days treated like Sundays, in one year (2026-04-06) or in every year (12-25)",
    setting
  ),
  flows: parameter(
    Flows,
    {},
    "Differences from the usual flows. A building with homes has residents, visitors, parcels, food and trades. A building with offices has employees, cleaners, guards, guests, office_parcels, office_food and trades",
    setting
  ),
  anomalies: parameter(AnomalyParameters, {}, "Number of anomalies per building and thirty days", setting),
  devices: parameter(
    DeviceParameters,
    {},
    "Devices and their faults: outages, late and repeated sending, alarms and wrong clocks",
    setting
  )
})
export type BuildingDocument = typeof BuildingDocument.Type

export const ScenarioDocument = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String.annotate({ description: "Location of this schema, for editors" })),
  name: Text.annotate({ description: "Name of the scenario" }),
  description: parameter(Schema.String, "", "Description in one line", setting),
  events_per_day: Schema.optionalKey(
    Schema.Finite.check(
      Schema.isBetween({ minimum: 0, maximum: 1e7 }, { message: "must be a number from 0 to 10000000" })
    ).annotate({ description: "Number of events on an average day of a usual week, for information only" })
  ),
  buildings: Schema.Array(BuildingDocument)
    .annotate({ description: "The buildings" })
    .check(
      Schema.isMinLength(1, { message: "must have at least one building" }),
      Schema.isMaxLength(mostEntries, { message: `must have at most ${mostEntries} entries; use \`copies\` for more` })
    )
})
export type ScenarioDocument = typeof ScenarioDocument.Type
