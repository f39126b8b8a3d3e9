/**
 * The scenarios that come with doorhook.
 */
import { Option } from "effect"
import { joined } from "../world/Building.ts"
import type { Building } from "../world/Building.ts"
import { officeBuilding } from "../world/OfficeBuilding.ts"
import { residentialBuilding } from "../world/ResidentialBuilding.ts"
import { demo } from "./Demo.ts"
import type { Scenario } from "./Scenario.ts"
import { companyFlows, companyTrades, homeFlows } from "./UsualFlows.ts"

const time_zone = "Europe/Berlin"

const residential200 = (): Scenario => {
  const building = residentialBuilding({ id: 1, name: "Garden Court", time_zone, flats: 200 })
  return {
    name: "residential-200",
    description: "A house of 200 flats, about 700 events a day",
    buildings: [{ building, flows: homeFlows(building) }]
  }
}

const office1000 = (): Scenario => {
  const building = officeBuilding({ id: 1, name: "Station House", time_zone, employees: 1_000, companies: 18 })
  return {
    name: "office-1000",
    description: "An office house of 1,000 employees with turnstiles, about 4,000 events on a Tuesday",
    buildings: [{ building, flows: [...companyFlows(building), companyTrades(building)] }]
  }
}

/** Flats above, companies below, one address. */
const mixedBuilding = (): Building => {
  const house = { id: 1, name: "Market Square", time_zone }
  const firstIds = { tenant: 1_501, access_point: 1_501, unit: 1_501, panel: 1_501 }
  return joined(
    residentialBuilding({ ...house, flats: 60 }),
    officeBuilding({ ...house, employees: 150, companies: 8, firstIds })
  )
}

const mixedUse = (): Scenario => {
  const building = mixedBuilding()
  return {
    name: "mixed-use",
    description: "60 flats above 8 companies of 150 employees, about 650 events on a weekday",
    buildings: [{ building, flows: [...homeFlows(building), ...companyFlows(building, { exits_logged: false })] }]
  }
}

const quiet = (): Scenario => {
  const building = residentialBuilding({ id: 1, name: "Mill Lane", time_zone, flats: 12, perFloor: 3 })
  return {
    name: "quiet",
    description: "A house of 12 flats, about 40 events a day",
    buildings: [{ building, flows: homeFlows(building) }]
  }
}

/** Building a world takes some milliseconds: only what is asked for is built. */
const presets: Readonly<Record<string, () => Scenario>> = {
  "residential-200": residential200,
  "office-1000": office1000,
  "mixed-use": mixedUse,
  quiet,
  demo: () => demo
}

export const presetNames: ReadonlyArray<string> = Object.keys(presets)

/** The preset of that name. */
export const preset = (name: string): Option.Option<Scenario> =>
  Object.hasOwn(presets, name) ? Option.fromUndefinedOr(presets[name]?.()) : Option.none()
