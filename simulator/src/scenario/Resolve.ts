/** Reads a scenario file and builds its buildings and flows of people. Reports mistakes with their JSON paths. */
import { schemaProblems } from "@doorhook/core"
import { Result, Schema } from "effect"
import type { Flow } from "../traffic/Flows.ts"
import type { OutsiderName } from "../traffic/Outsiders.ts"
import { outsiderFlow } from "../traffic/Outsiders.ts"
import { monthDayOf } from "../traffic/Parameter.ts"
import type { Building, BuildingUse, FirstIds, Methods } from "../world/Building.ts"
import { firstIdsOf, homesRoom, joined } from "../world/Building.ts"
import { parseDay } from "../world/CalendarDate.ts"
import { officeBuilding } from "../world/Office.ts"
import { holdersPerFlat, residentialBuilding } from "../world/Residential.ts"
import type { BuildingTraffic, Scenario, Site } from "./Scenario.ts"
import type { BuildingDocument } from "./ScenarioDocument.ts"
import { mostBuildings, ScenarioDocument } from "./ScenarioDocument.ts"

/** An invalid scenario: what is wrong, and where (JSONPath, RFC 9535, like `$.buildings[0].name`). */
export class InvalidScenario extends Schema.TaggedError<InvalidScenario>()("InvalidScenario", {
  problems: Schema.Array(Schema.Struct({ path: Schema.String, detail: Schema.String }))
}) {
  override get message(): string {
    return this.problems.map(({ detail, path }) => `${path} ${detail}`).join("; ")
  }
}

interface Problem {
  readonly pointer: string
  readonly detail: string
}

/** Converts a JSON Pointer to a JSONPath. */
const jsonPath = (pointer: string): string =>
  pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, token) => {
      if (/^\d+$/.test(token)) return `${path}[${token}]`
      return /^[A-Za-z_$][\w$]*$/.test(token) ? `${path}.${token}` : `${path}[${JSON.stringify(token)}]`
    }, "$")

const methodsOf = (shares: {
  readonly swipe_to_open: number
  readonly pin: number
  readonly qr_code: number
}): Methods => {
  const { pin, qr_code, swipe_to_open } = shares
  const whole = swipe_to_open + pin + qr_code
  return [
    ["swipe_to_open", swipe_to_open / whole],
    ["pin", pin / whole],
    ["qr_code", qr_code / whole]
  ]
}

const useOf = ({ homes, offices, use }: BuildingDocument): BuildingUse =>
  use ?? (homes === undefined ? "office" : offices === undefined ? "residential" : "mixed")

const staffOf = ({ cleaners, employees, guards }: NonNullable<BuildingDocument["offices"]>) => ({
  cleaners: cleaners ?? (employees < 30 ? 0 : Math.ceil(employees / 60)),
  guards: guards ?? (employees < 300 ? 0 : 3)
})

const buildingOf = (document: BuildingDocument, id: number, name: string, firstIds: FirstIds): Building => {
  const { homes, offices, time_zone } = document
  const common = { id, name, time_zone, use: useOf(document) }
  const house =
    homes === undefined
      ? null
      : residentialBuilding({ ...common, ...homes, firstIds, methods: methodsOf(homes.entry_methods) })
  const rooms =
    offices === undefined
      ? null
      : officeBuilding({
          ...common,
          ...offices,
          ...staffOf(offices),
          companies: Math.min(offices.companies, offices.employees),
          firstIds: house === null ? firstIds : firstIdsOf(0, firstIds.tenant - 1 + homesRoom),
          methods: methodsOf(offices.entry_methods)
        })
  if (house !== null && rooms !== null) return joined(house, rooms)
  const only = house ?? rooms
  if (only === null) throw new Error("a building without homes and offices passed the check of the scenario")
  return only
}

/** Share of people who slip in right behind another person without an event, with and without turnstiles (assumed). */
const usualTailgating = { with: 0.02, without: 0.1 } as const

const flowsOf = ({ anomalies, flows, homes, offices }: BuildingDocument, building: Building): ReadonlyArray<Flow> => {
  const outsiders = (...names: ReadonlyArray<OutsiderName>) =>
    names.map((name) => outsiderFlow(name, flows[name], building))
  const exits_logged = offices?.turnstiles ?? false
  const tailgating = flows.employees.tailgating ?? (exits_logged ? usualTailgating.with : usualTailgating.without)
  const has = (duty: string) => building.people.some((person) => person.duty === duty)
  return [
    ...(homes === undefined ? [] : [{ ...flows.residents, _tag: "Residents", name: "residents" } as const]),
    ...(offices === undefined
      ? []
      : [{ ...flows.employees, _tag: "Employees", name: "employees", tailgating, exits_logged } as const]),
    ...(homes === undefined ? [] : outsiders("visitors", "parcels", "food")),
    ...(offices === undefined ? [] : outsiders("guests", "office_parcels", "office_food")),
    ...outsiders("trades"),
    { _tag: "Anomalies", name: "anomalies", per_month: anomalies },
    ...(has("cleaner") ? [{ ...flows.cleaners, _tag: "Cleaners", name: "cleaners", exits_logged } as const] : []),
    ...(has("guard") ? [{ ...flows.guards, _tag: "Guards", name: "guards", exits_logged } as const] : [])
  ]
}

const peopleOf = ({ homes, offices }: BuildingDocument): number => {
  const staff = offices === undefined ? { cleaners: 0, guards: 0 } : staffOf(offices)
  return Math.ceil((homes?.flats ?? 0) * holdersPerFlat) + (offices?.employees ?? 0) + staff.cleaners + staff.guards
}

/**
 * Returns a function that makes the sites of a document's building. `firstIds` replaces the usual first ids, as in the
 * demo.
 */
export const sitesOf = (document: BuildingDocument) => {
  const { devices, flows, holidays, homes, opening_hours = null, time_zone } = document
  const calendar = {
    dates: new Set(holidays.flatMap((text) => parseDay(text) ?? [])),
    yearly: new Set(holidays.filter((text) => text.length === 5).map(monthDayOf))
  }
  const away = homes === undefined ? null : { trips: flows.residents.trips, duration: flows.residents.trip_duration }
  const people = peopleOf(document)
  return (id: number, name: string = document.name, firstIds: FirstIds = firstIdsOf(id)): Site => ({
    id,
    time_zone,
    people,
    traffic: (): BuildingTraffic => {
      const building = buildingOf(document, id, name, firstIds)
      return { building, flows: flowsOf(document, building), calendar, devices, away, opening_hours }
    }
  })
}

/** Returns the ids and names of a document's buildings and their copies, repeated `times` times. */
const placesOf = (document: ScenarioDocument, times: number) => {
  let next = 1
  const places = document.buildings.flatMap(({ copies, id = next, name }, index) => {
    next = id + copies
    return Array.from({ length: copies }, (_, copy) => ({
      index,
      id: id + copy,
      name: copies === 1 ? name : `${name} ${copy + 1}`
    }))
  })
  const highest = places.reduce((most, { id }) => Math.max(most, id), 0)
  return Array.from({ length: times }, (_, time) =>
    places.map((place) => ({
      ...place,
      id: place.id + time * highest,
      name: time === 0 ? place.name : `${place.name} (${time + 1})`
    }))
  ).flat()
}

/** Returns the scenario of a document, with `times` copies of its buildings. Each copy has its own people. */
export const resolve = (document: ScenarioDocument, times = 1): Scenario => {
  const sites = document.buildings.map(sitesOf)
  return {
    name: times === 1 ? document.name : `${times}\u00a0×\u00a0${document.name}`,
    description: document.description,
    sites: placesOf(document, times).flatMap(({ id, index, name }) => sites[index]?.(id, name) ?? []),
    events_per_day: document.events_per_day === undefined ? null : document.events_per_day * times
  }
}

const homeFlows: ReadonlyArray<string> = ["residents", "visitors", "parcels", "food"]

const given = Schema.decodeUnknownResult(
  Schema.Struct({
    buildings: Schema.Array(Schema.Struct({ flows: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) }))
  })
)

/** Finds problems that the schema can't express. */
const furtherProblems = (document: ScenarioDocument, value: unknown, times: number): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const places = placesOf(document, 1)
  const owners = new Set<number>()
  for (const { id, index } of places) {
    if (owners.has(id))
      problems.push({ pointer: `/buildings/${index}`, detail: `has the id ${id} of another building` })
    owners.add(id)
  }
  if (places.length * times > mostBuildings) {
    const most = Math.floor(mostBuildings / places.length)
    const detail = `must be at most ${mostBuildings} buildings, including copies; they are ${places.length}${times === 1 ? "" : `, ${times} times, and ${most} times would fit`}`
    problems.push({ pointer: "/buildings", detail })
  }
  const written = Result.getOrElse(given(value), () => ({ buildings: [] })).buildings
  for (const [index, { homes, offices }] of document.buildings.entries()) {
    const pointer = `/buildings/${index}`
    if (homes === undefined && offices === undefined)
      problems.push({ pointer, detail: "must have `homes`, `offices` or both" })
    for (const name of Object.keys(written[index]?.flows ?? {}).filter((own) => own !== "trades")) {
      const needs = homeFlows.includes(name) ? "homes" : "offices"
      if ((needs === "homes" ? homes : offices) === undefined)
        problems.push({ pointer: `${pointer}/flows/${name}`, detail: `applies only to a building with \`${needs}\`` })
    }
  }
  return problems
}

const decode = Schema.decodeUnknownResult(ScenarioDocument, { errors: "all", onExcessProperty: "error" })

/** Checks and decodes the value of a scenario file. */
const decodeScenario = (value: unknown, times = 1): Result.Result<ScenarioDocument, InvalidScenario> => {
  const invalid = (problems: ReadonlyArray<Problem>) =>
    Result.fail(
      new InvalidScenario({ problems: problems.map(({ detail, pointer }) => ({ path: jsonPath(pointer), detail })) })
    )
  const decoded = decode(value)
  if (Result.isFailure(decoded)) return invalid(schemaProblems(decoded.failure))
  const problems = furtherProblems(decoded.success, value, times)
  return problems.length === 0 ? Result.succeed(decoded.success) : invalid(problems)
}

/** Reads the text of a scenario file, with `times` copies of its buildings. */
export const readScenario = (text: string, times = 1): Result.Result<Scenario, InvalidScenario> => {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""))
  } catch (error) {
    const detail = `is not JSON: ${error instanceof Error ? error.message : String(error)}`
    return Result.fail(new InvalidScenario({ problems: [{ path: "the file", detail }] }))
  }
  return Result.map(decodeScenario(value, times), (document) => resolve(document, times))
}
