/**
 * From a checked document to the scenario that it describes: its buildings, with who comes and goes there.
 */
import type { Building, EntryMethod } from "../../world/Building.ts"
import { joined } from "../../world/Building.ts"
import type { Calendar } from "../../world/Calendar.ts"
import { parseDay } from "../../world/CalendarDate.ts"
import type { Devices } from "../../world/Devices.ts"
import type { FirstIds } from "../../world/Numbering.ts"
import { firstIdsOf, secondIdsOf } from "../../world/Numbering.ts"
import { officeBuilding } from "../../world/OfficeBuilding.ts"
import { residentialBuilding } from "../../world/ResidentialBuilding.ts"
import type { BuildingTraffic, Scenario } from "../Scenario.ts"
import { clockDefaults, flushDefaults, homeMethods, officeMethods, outageDefaults } from "./BuildingParameters.ts"
import { flowsOf } from "./ResolveFlows.ts"
import type { BuildingDocument, ScenarioDocument } from "./ScenarioDocument.ts"
import { lognormalOf, millisOf, monthDayNumber } from "./Values.ts"

const devicesOf = ({ outages, flush, clocks }: NonNullable<BuildingDocument["devices"]> = {}): Devices => {
  const every = millisOf(outages?.every ?? outageDefaults.every)
  const kept = { ...flushDefaults, ...flush }
  const shown = { ...clockDefaults, ...clocks }
  return {
    outages: every === 0 ? null : { every, down: lognormalOf({ ...outageDefaults.down, ...outages?.down }, 1) },
    flush: { per_second: kept.per_second, jitter: millisOf(kept.jitter) },
    clocks: {
      deviation: millisOf(shown.deviation),
      wrong: shown.wrong,
      wrong_deviation: millisOf(shown.wrong_deviation)
    }
  }
}

const calendarOf = (dates: ReadonlyArray<string>): Calendar => ({
  dates: new Set(dates.flatMap((text) => parseDay(text) ?? [])),
  yearly: new Set(dates.filter((text) => text.length === 5).map(monthDayNumber))
})

type Methods = Readonly<Record<"swipe_to_open" | "pin" | "qr_code", number>>

const methodsOf = ({ swipe_to_open, pin, qr_code }: Methods): ReadonlyArray<readonly [EntryMethod, number]> => {
  const sum = swipe_to_open + pin + qr_code
  const whole = sum > 0 ? sum : 1
  return [
    ["swipe_to_open", swipe_to_open / whole],
    ["pin", pin / whole],
    ["qr_code", qr_code / whole]
  ]
}

const buildingOf = (document: BuildingDocument, id: number, name: string, firstIds: FirstIds): Building | null => {
  const { homes, offices, time_zone = "UTC" } = document
  const house =
    homes === undefined
      ? null
      : residentialBuilding({
          id,
          name,
          time_zone,
          flats: homes.flats,
          perFloor: homes.per_floor ?? 4,
          firstIds,
          methods: methodsOf(homes.entry_methods ?? homeMethods)
        })
  const rooms =
    offices === undefined
      ? null
      : officeBuilding({
          id,
          name,
          time_zone,
          employees: offices.employees,
          companies: Math.min(offices.companies ?? 8, offices.employees),
          firstIds: house === null ? firstIds : secondIdsOf(firstIds),
          methods: methodsOf(offices.entry_methods ?? officeMethods)
        })
  return house !== null && rooms !== null ? joined(house, rooms) : (house ?? rooms)
}

/** A building of its own: where ids begin can be said, as the demo does. */
export const resolveBuilding = (
  document: BuildingDocument,
  id: number,
  name: string = document.name,
  firstIds: FirstIds = firstIdsOf(id)
): ReadonlyArray<BuildingTraffic> => {
  const building = buildingOf(document, id, name, firstIds)
  if (building === null) return []
  return [
    {
      building,
      flows: flowsOf(document, building),
      calendar: calendarOf(document.holidays ?? []),
      devices: devicesOf(document.devices)
    }
  ]
}

/** The ids and names of the buildings of a document, copies included. */
export const placesOf = (document: ScenarioDocument) => {
  let next = 1
  return document.buildings.flatMap((building, index) => {
    const { copies = 1, id = next, name } = building
    next = id + copies
    return Array.from({ length: copies }, (_, copy) => ({
      building,
      index,
      id: id + copy,
      name: copies === 1 ? name : `${name} ${copy + 1}`
    }))
  })
}

/** The scenario of a document that was checked. */
export const resolve = (document: ScenarioDocument): Scenario => ({
  name: document.name,
  description: document.description ?? "",
  buildings: placesOf(document).flatMap(({ building, id, name }) => resolveBuilding(building, id, name)),
  events_per_day: document.events_per_day ?? null
})
