/**
 * A scenario: buildings, and the flows of people in each.
 */
import type { Away } from "../world/Roster.ts"
import type { Flow } from "../traffic/Flows.ts"
import type { Building } from "../world/Building.ts"
import type { Calendar } from "../world/CalendarDate.ts"
import type { Devices, OpeningHours } from "./ScenarioDocument.ts"

/** The most buildings of a scenario: the numbers in events' data have nine bits for them. */
export const mostBuildings = 0x200

/** A building and what goes on in it. No two of its flows have the same name. */
export interface BuildingTraffic {
  readonly building: Building
  readonly flows: ReadonlyArray<Flow>
  readonly calendar: Calendar
  /** How its devices fail; null where they do not. */
  readonly devices: Devices | null
  /** How often its households are away; null where it has none. */
  readonly away: Away | null
  /** When it is open, in hours of the clock; null for the usual hours of its use. */
  readonly opening_hours: OpeningHours | null
}

export interface Scenario {
  readonly name: string
  /** What it is, in one line. */
  readonly description: string
  /** At most `mostBuildings`. */
  readonly buildings: ReadonlyArray<BuildingTraffic>
  /** Events that an average day of a usual week has; null where it is not stated. */
  readonly events_per_day: number | null
}

/** The time zone that all its buildings are in; null where they are in several. */
export const timeZoneOf = ({ buildings }: Scenario): string | null => {
  const zones = new Set(buildings.map(({ building }) => building.time_zone))
  const [zone = null] = zones
  return zones.size === 1 ? zone : null
}

/** The time zone of each building by its id; UTC for one that the scenario does not have. */
export const zonesOf = ({ buildings }: Scenario): ((building: number) => string) => {
  const zones = new Map<number, string>(buildings.map(({ building }) => [building.id, building.time_zone]))
  return (building) => zones.get(building) ?? "UTC"
}
