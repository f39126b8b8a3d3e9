/**
 * A scenario so many times over: the same houses again, with people, doors and numbers of their own.
 */
import { BuildingId, TenantId } from "@doorhook/core"
import type { BuildingTraffic, Scenario } from "../scenario/Scenario.ts"
import type { AccessPoint, Building, Panel, Person, Unit } from "../world/Building.ts"

/** Between the numbers of one copy and those of the next, at least. */
const leastRoom = 1_000_000

/** Numbers of one copy do not reach those of the next: ids of buildings can be high, and those of their parts are higher. */
const roomFor = (buildings: ReadonlyArray<Building>): number => {
  const highest = buildings.reduce((most, { access_points, panels, people, shared_rooms, units }) => {
    const parts = [access_points, shared_rooms, panels, units, units.flatMap(({ door }) => door ?? [])]
    const numbers = parts.flatMap((part) => part.map(({ id }) => id))
    const tenants = [...units, ...people].flatMap(({ tenant_ids }) => tenant_ids)
    return [...numbers, ...tenants].reduce((high, number) => Math.max(high, number), most)
  }, 0)
  return Math.ceil((highest + 1) / leastRoom) * leastRoom
}

/** Makes each thing once, so that what was one thing stays one. */
const once = <A extends object>(make: (thing: A) => A): ((thing: A) => A) => {
  const made = new Map<A, A>()
  return (thing) => {
    const known = made.get(thing) ?? make(thing)
    made.set(thing, known)
    return known
  }
}

const copyOf = (building: Building, shift: number, name: string, id: number): Building => {
  const tenants = (ids: ReadonlyArray<TenantId>) => ids.map((tenant) => TenantId.make(tenant + shift))
  const door = once((own: AccessPoint): AccessPoint => ({ ...own, id: own.id + shift }))
  const panel = once((own: Panel): Panel => ({ ...own, id: own.id + shift, access_point: door(own.access_point) }))
  const unit = once((own: Unit): Unit => ({
    ...own,
    id: own.id + shift,
    tenant_ids: tenants(own.tenant_ids),
    door: own.door === null ? null : door(own.door)
  }))
  const person = (own: Person): Person => ({
    ...own,
    unit: unit(own.unit),
    tenant_ids: tenants(own.tenant_ids),
    entrance: door(own.entrance)
  })
  return {
    ...building,
    id: BuildingId.make(id),
    name,
    access_points: building.access_points.map(door),
    shared_rooms: building.shared_rooms.map(door),
    panels: building.panels.map(panel),
    units: building.units.map(unit),
    people: building.people.map(person)
  }
}

export const manyBuildings = (scenario: Scenario, times: number): Scenario => {
  if (times === 1) return scenario
  const buildings = scenario.buildings.map(({ building }) => building)
  const highest = Math.max(...buildings.map(({ id }) => id))
  const room = roomFor(buildings)
  return {
    ...scenario,
    name: `${times}\u00a0×\u00a0${scenario.name}`,
    buildings: Array.from({ length: times }, (_, number) =>
      scenario.buildings.map((traffic): BuildingTraffic =>
        number === 0
          ? traffic
          : {
              ...traffic,
              building: copyOf(
                traffic.building,
                number * room,
                `${traffic.building.name} ${number + 1}`,
                traffic.building.id + number * highest
              )
            }
      )
    ).flat()
  }
}
