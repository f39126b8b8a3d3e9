/**
 * Builds an office house: turnstiles in the lobby, companies by size, a secured floor door for each.
 */
import { BuildingId, TenantId } from "@doorhook/core"
import { between, standardNormal, weighted } from "../random/Distribution.ts"
import { activityOf } from "./Activity.ts"
import { child, Rng, root } from "../random/Substream.ts"
import type { AccessPoint, Building, EntryMethod, Person, Unit } from "./Building.ts"
import { familyName, fullName } from "./Names.ts"
import type { FirstIds } from "./Numbering.ts"
import { doorMaker, firstIdsOf } from "./Numbering.ts"

export interface OfficeSpec {
  readonly id: number
  readonly name: string
  readonly time_zone: string
  readonly employees: number
  readonly companies: number
  readonly firstIds?: FirstIds
  /** How people usually open doors, and the share of each way. */
  readonly methods: ReadonlyArray<readonly [EntryMethod, number]>
}

/** Employees who come by car (assumed). */
const garageShare = 0.25

const trades = ["Partners", "Systems", "Consulting", "Studio", "Logistics", "Insurance", "Media", "Engineering"]

/** Sizes of companies: from a quarter of an even share to seven quarters, one at least; together all employees. */
const companySizes = (rng: Rng, employees: number, companies: number): ReadonlyArray<number> => {
  const parts = Array.from({ length: companies }, () => between(rng, 0.25, 1.75))
  const whole = parts.reduce((sum, part) => sum + part, 0)
  let reached = 0
  let before = 0
  return parts.map((part, index) => {
    reached += part / whole
    const left = parts.length - 1 - index
    const until = left === 0 ? employees : Math.floor(reached * employees)
    // Each company after this has somebody, too.
    const size = Math.max(1, Math.min(until, employees - left) - before)
    before += size
    return size
  })
}

const employeeOf = (
  rng: Rng,
  methods: OfficeSpec["methods"],
  unit: Unit,
  entrances: ReadonlyArray<readonly [AccessPoint, number]>,
  otherwise: AccessPoint
): Person => ({
  name: fullName(rng),
  unit,
  tenant_ids: unit.tenant_ids,
  method: weighted(rng, methods, "pin"),
  entrance: weighted(rng, entrances, otherwise),
  works: true,
  habit: standardNormal(rng),
  activity: activityOf(rng)
})

export const officeBuilding = (spec: OfficeSpec): Building => {
  const { id, name, time_zone, employees, companies, firstIds = firstIdsOf(id), methods } = spec
  const rng = new Rng(child(root("office building"), id))
  const door = doorMaker(firstIds.access_point)
  const west = door("Lobby turnstile west", "entrance", { camera: true })
  const east = door("Lobby turnstile east", "entrance", { camera: true })
  const garage = door("Garage gate", "garage", { camera: true })
  const dock = door("Loading dock", "entrance", { camera: true })
  const entrances = [
    [garage, garageShare],
    [west, (1 - garageShare) / 2],
    [east, (1 - garageShare) / 2]
  ] as const
  const floors: Array<AccessPoint> = []
  const units: Array<Unit> = []
  const people: Array<Person> = []
  for (const [index, size] of companySizes(rng, employees, companies).entries()) {
    const floor = door(`Floor ${index + 1}`, "interior", { camera: false })
    const unit: Unit = {
      id: firstIds.unit + index,
      label: `${familyName(rng)} ${trades[index % trades.length] ?? ""}`,
      use: "company",
      tenant_ids: [TenantId.make(firstIds.tenant + index)],
      door: floor
    }
    floors.push(floor)
    units.push(unit)
    for (let employee = 0; employee < size; employee++) people.push(employeeOf(rng, methods, unit, entrances, west))
  }
  return {
    id: BuildingId.make(id),
    name,
    time_zone,
    access_points: [west, east, garage, dock, ...floors],
    shared_rooms: [],
    panels: [
      { id: firstIds.panel, name: "Reception panel", access_point: west, use: "company" },
      { id: firstIds.panel + 1, name: "Loading dock panel", access_point: dock, use: "company" }
    ],
    units,
    people
  }
}
