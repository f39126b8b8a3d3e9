/**
 * Builds an office building: turnstiles in the lobby, companies of different sizes with a secured floor door each, and
 * people for building services.
 */
import { BuildingId, TenantId } from "@doorhook/core"
import { between, weighted } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import { child, Rng as Generator, root } from "../random/Substream.ts"
import type { AccessPoint, Building, BuildingUse, Duty, FirstIds, Person, Staffing, Unit } from "./Building.ts"
import { doorMaker, familyName, fullName, traitsOf } from "./Building.ts"

export interface OfficeSpec extends Staffing {
  readonly id: number
  readonly name: string
  readonly use: BuildingUse
  readonly time_zone: string
  readonly employees: number
  readonly companies: number
  readonly cleaners: number
  readonly guards: number
  readonly firstIds: FirstIds
}

/** Share of employees who come by car (assumed). */
const garageShare = 0.25

const trades = ["Partners", "Systems", "Consulting", "Studio", "Logistics", "Insurance", "Media", "Engineering"]

/**
 * Draws company sizes that add up to all employees. Sizes range from about a quarter to seven quarters of the average,
 * and each company has at least one employee.
 */
const companySizes = (rng: Rng, employees: number, companies: number): ReadonlyArray<number> => {
  const parts = Array.from({ length: companies }, () => between(rng, 0.25, 1.75))
  const whole = parts.reduce((sum, part) => sum + part, 0)
  let [reached, before] = [0, 0]
  return parts.map((part, index) => {
    reached += part / whole
    const left = parts.length - 1 - index
    const until = left === 0 ? employees : Math.floor(reached * employees)
    // Leaves at least one employee for each later company.
    const size = Math.max(1, Math.min(until, employees - left) - before)
    before += size
    return size
  })
}

export const officeBuilding = (spec: OfficeSpec): Building => {
  const { id, cleaners, companies, employees, firstIds, guards, methods, name, time_zone, turnover, use } = spec
  const rng = new Generator(child(root("office building"), id))
  const door = doorMaker(firstIds.access_point)
  const west = door("Lobby turnstile west", "entrance", true)
  const east = door("Lobby turnstile east", "entrance", true)
  const garage = door("Garage gate", "garage", true)
  const dock = door("Loading dock", "entrance", true)
  const entrances = [
    [garage, garageShare],
    [west, (1 - garageShare) / 2],
    [east, (1 - garageShare) / 2]
  ] as const
  const floors: Array<AccessPoint> = []
  const units: Array<Unit> = []
  const people: Array<Person> = []
  const add = (duty: Duty, unit: Unit, entrance: AccessPoint, count: number) => {
    for (let left = count; left > 0; left--) {
      const own = duty === "employee" ? weighted(rng, entrances, west) : entrance
      const traits = traitsOf(rng, duty, methods)
      people.push({ name: fullName(rng), duty, unit, tenant_ids: unit.tenant_ids, entrance: own, ...traits })
    }
  }
  for (const [index, size] of companySizes(rng, employees, companies).entries()) {
    const floor = door(`Floor ${index + 1}`, "interior", false)
    const unit: Unit = {
      id: firstIds.unit + index,
      label: `${familyName(rng)} ${trades[index % trades.length] ?? ""}`,
      use: "company",
      tenant_ids: [TenantId.make(firstIds.tenant + index)],
      door: floor
    }
    floors.push(floor)
    units.push(unit)
    add("employee", unit, west, size)
  }
  if (cleaners + guards > 0) {
    const tenant_ids = [TenantId.make(firstIds.tenant + companies)]
    const service: Unit = {
      id: firstIds.unit + companies,
      label: "Building services",
      use: "service",
      tenant_ids,
      door: null
    }
    units.push(service)
    add("cleaner", service, dock, cleaners)
    add("guard", service, west, guards)
  }
  return {
    id: BuildingId.make(id),
    name,
    use,
    time_zone,
    access_points: [west, east, garage, dock, ...floors],
    shared_rooms: [],
    panels: [
      { id: firstIds.panel, name: "Reception panel", access_point: west, use: "company" },
      { id: firstIds.panel + 1, name: "Loading dock panel", access_point: dock, use: "company" }
    ],
    units,
    people,
    staffing: { employee: { turnover, methods }, cleaner: { turnover, methods }, guard: { turnover, methods } }
  }
}
