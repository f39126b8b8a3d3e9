/** A scenario: buildings, and the flows of people in each of them. */
import type { Away } from "../world/Roster.ts"
import type { Flow } from "../traffic/Flows.ts"
import type { Building } from "../world/Building.ts"
import type { Calendar } from "../world/CalendarDate.ts"
import type { Devices, OpeningHours } from "./ScenarioDocument.ts"

/** A building with its flows. Flow names are unique. */
export interface BuildingTraffic {
  readonly building: Building
  readonly flows: ReadonlyArray<Flow>
  readonly calendar: Calendar
  /** How the devices fail; null if they don't. */
  readonly devices: Devices | null
  /** How often households are away; null if there are no homes. */
  readonly away: Away | null
  /** Opening hours in local time; null for the usual hours of the building's use. */
  readonly opening_hours: OpeningHours | null
}

/** Where a building is, and how to make it. A large scenario never has all its buildings in memory. */
export interface Site {
  readonly id: number
  readonly time_zone: string
  /** Expected number of people. */
  readonly people: number
  /** Makes the building, its people and its flows: the same at every call. */
  readonly traffic: () => BuildingTraffic
}

export interface Scenario {
  readonly name: string
  /** Description in one line. */
  readonly description: string
  /** At most `mostBuildings`. */
  readonly sites: ReadonlyArray<Site>
  /** Number of events on an average day of a usual week; null if not stated. */
  readonly events_per_day: number | null
}

/** Returns the time zone of all buildings; null if they are in several. */
export const timeZoneOf = ({ sites }: Scenario): string | null => {
  const zones = new Set(sites.map(({ time_zone }) => time_zone))
  const [zone = null] = zones
  return zones.size === 1 ? zone : null
}

/** Returns a function from a building's id to its time zone; UTC for unknown buildings. */
export const zonesOf = ({ sites }: Scenario): ((building: number | string) => string) => {
  const zones = new Map<number | string, string>(sites.map(({ id, time_zone }) => [id, time_zone]))
  return (building) => zones.get(building) ?? "UTC"
}
