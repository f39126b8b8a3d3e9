/**
 * A scenario as it is written in a file (`--scenario FILE.json`).
 *
 * Only what is there has to be said: buildings with their size. Every parameter of the traffic has a default, with its
 * source in the JSON Schema that is made of this.
 */
import { Schema } from "effect"
import { mostBuildings } from "../Scenario.ts"
import { expectedZone, timeZone } from "../../world/zones/TimeZone.ts"
import { Anomalies, DeviceParameters, Homes, Offices } from "./BuildingParameters.ts"
import { employeeParameters, residentParameters } from "./MemberParameters.ts"
import { outsiderFlows } from "./OutsiderParameters.ts"
import { parameter } from "./Parameter.ts"
import { HolidayDate, NotNegative, wholeBetween } from "./Values.ts"

const Text = Schema.String.check(Schema.isNonEmpty({ message: "must not be empty" }))

// What is said of it stands before the check, which has no form in JSON Schema.
const TimeZoneName = Schema.String.annotate({
  description: "IANA name. People keep to the clock on the wall, also when it is put forward or back",
  default: "UTC"
}).check(Schema.makeFilter((name) => timeZone(name) !== null || `must be ${expectedZone}`))

const Flows = Schema.Struct({
  residents: Schema.optionalKey(residentParameters),
  employees: Schema.optionalKey(employeeParameters),
  visitors: Schema.optionalKey(outsiderFlows.visitors),
  parcels: Schema.optionalKey(outsiderFlows.parcels),
  food: Schema.optionalKey(outsiderFlows.food),
  guests: Schema.optionalKey(outsiderFlows.guests),
  office_parcels: Schema.optionalKey(outsiderFlows.office_parcels),
  office_food: Schema.optionalKey(outsiderFlows.office_food),
  trades: Schema.optionalKey(outsiderFlows.trades)
}).annotate({
  description:
    "What differs from the usual flows. A building with homes has residents, visitors, parcels, food and trades; one with offices employees, guests, office_parcels, office_food and trades"
})

export const BuildingDocument = Schema.Struct({
  name: Text.annotate({ description: "Its name" }),
  id: Schema.optionalKey(
    wholeBetween(1, 9_000_000).annotate({
      description: "Its id, its place in the list by default. Ids of doors, units and tenants begin at id * 1000 + 1"
    })
  ),
  copies: parameter(
    wholeBetween(1, mostBuildings),
    1,
    "How many buildings like this there are, with ids that follow",
    "a setting"
  ),
  time_zone: Schema.optionalKey(TimeZoneName),
  homes: Schema.optionalKey(Homes),
  offices: Schema.optionalKey(Offices),
  holidays: parameter(
    Schema.Array(HolidayDate).check(Schema.isMaxLength(1_000)),
    [],
    "Days that are kept like Sundays: of one year (2026-04-06) or of every year (12-25)",
    "a setting"
  ),
  flows: Schema.optionalKey(Flows),
  anomalies: Schema.optionalKey(Anomalies),
  devices: Schema.optionalKey(DeviceParameters)
})
export type BuildingDocument = typeof BuildingDocument.Type

export const ScenarioDocument = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String.annotate({ description: "Where this schema is, for editors" })),
  name: Text.annotate({ description: "What it is called" }),
  description: parameter(Schema.String, "", "What it is, in one line", "a setting"),
  events_per_day: Schema.optionalKey(
    NotNegative.annotate({
      description:
        "Events that an average day of a usual week is said to have; `simulate validate` compares whole weeks with it: within 30 % for one, 15 % for four, 10 % from ten on"
    })
  ),
  buildings: Schema.Array(BuildingDocument)
    .annotate({ description: "The buildings" })
    .check(
      Schema.isMinLength(1, { message: "must have at least one building" }),
      Schema.isMaxLength(mostBuildings, { message: `must have at most ${mostBuildings} buildings` })
    )
})
export type ScenarioDocument = typeof ScenarioDocument.Type
