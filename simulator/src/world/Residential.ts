/**
 * Builds a residential building. Households depend on the size of their flat, and doors on the size of the building.
 */
import { BuildingId, TenantId } from "@doorhook/core"
import { chance, weighted } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import { child, Rng as Generator, root } from "../random/Substream.ts"
import type { Building, BuildingUse, FirstIds, Person, Staffing, Unit } from "./Building.ts"
import { doorMaker, familyName, givenName, traitsOf } from "./Building.ts"

export interface ResidentialSpec extends Staffing {
  readonly id: number
  readonly name: string
  readonly use: BuildingUse
  readonly time_zone: string
  readonly flats: number
  readonly per_floor: number
  readonly firstIds: FirstIds
}

/** Number of dwellers by flat size (CIBSE Guide D table 3.12), and share of each size (assumed). */
const flatSizes: ReadonlyArray<readonly [dwellers: number, share: number]> = [
  [1.5, 0.2],
  [1.8, 0.4],
  [3.0, 0.3],
  [4.0, 0.1]
]

/** Share of dwellers who hold a credential. The others are children (assumed). */
export const credentialShare = 0.8

/** Expected number of credential holders of a flat. */
export const holdersPerFlat = flatSizes.reduce((sum, [dwellers, share]) => sum + dwellers * share, 0) * credentialShare

/**
 * Shares of residents who come by car or through the courtyard, and of household members with the same surname
 * (assumed).
 */
const garageShare = 0.3
const courtyardShare = 0.15
const sharedNameShare = 0.6

/** Minimum number of flats of a building with a gym and a courtyard with its own panel. */
const largeHouse = 60

const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"

/** Draws the number of credential holders of one flat, at least one. */
const householdSize = (rng: Rng): number => {
  const mean = weighted(rng, flatSizes, 2)
  const dwellers = Math.floor(mean) + (chance(rng, mean - Math.floor(mean)) ? 1 : 0)
  let holders = 0
  for (let dweller = 0; dweller < dwellers; dweller++) if (chance(rng, credentialShare)) holders++
  return Math.max(1, holders)
}

/** Draws the name of a household member. */
export const memberName = (rng: Rng, surname: string): string =>
  `${givenName(rng)} ${chance(rng, sharedNameShare) ? surname : familyName(rng)}`

export const residentialBuilding = (spec: ResidentialSpec): Building => {
  const { id, firstIds, flats, methods, name, per_floor, time_zone, turnover, use } = spec
  const rng = new Generator(child(root("residential building"), id))
  const door = doorMaker(firstIds.access_point)
  const isLarge = flats >= largeHouse
  const front = door("Front door", "entrance", true)
  const garage = door("Garage gate", "garage", true)
  const courtyard = isLarge ? door("Courtyard door", "entrance", true) : null
  const rooms = [
    door("Bike room", "interior", false),
    door("Parcel room", "interior", true),
    ...(isLarge ? [door("Gym", "interior", false)] : [])
  ]
  const entrances = [
    [garage, garageShare],
    [courtyard ?? front, courtyardShare]
  ] as const
  const units: Array<Unit> = []
  const people: Array<Person> = []
  for (let flat = 0; flat < flats; flat++) {
    const tenant_ids = Array.from({ length: householdSize(rng) }, (_, member) =>
      TenantId.make(firstIds.tenant + people.length + member)
    )
    const unit: Unit = {
      id: firstIds.unit + flat,
      label: `${1 + Math.floor(flat / per_floor)}${letters[flat % per_floor] ?? ""}`,
      use: "home",
      tenant_ids,
      door: null
    }
    units.push(unit)
    const surname = familyName(rng)
    for (const tenant of tenant_ids) {
      people.push({
        name: memberName(rng, surname),
        duty: "resident",
        unit,
        tenant_ids: [tenant],
        entrance: weighted(rng, entrances, front),
        ...traitsOf(rng, "resident", methods)
      })
    }
  }
  const panel = { id: firstIds.panel, name: "Front door panel", access_point: front, use: "home" } as const
  return {
    id: BuildingId.make(id),
    name,
    use,
    time_zone,
    access_points: [front, garage, ...(courtyard === null ? [] : [courtyard]), ...rooms],
    shared_rooms: rooms,
    panels: [
      panel,
      ...(courtyard === null ? [] : [{ ...panel, id: panel.id + 1, name: "Courtyard panel", access_point: courtyard }])
    ],
    units,
    people,
    staffing: { resident: { turnover, methods } }
  }
}
