/**
 * Builds a house of flats: households by the size of the flat, doors by the size of the house.
 */
import { BuildingId, TenantId } from "@doorhook/core"
import { chance, standardNormal, weighted } from "../random/Distribution.ts"
import { activityOf } from "./Activity.ts"
import { child, Rng, root } from "../random/Substream.ts"
import type { AccessPoint, Building, EntryMethod, Panel, Person, Unit } from "./Building.ts"
import { familyName, givenName } from "./Names.ts"
import type { FirstIds } from "./Numbering.ts"
import { doorMaker, firstIdsOf } from "./Numbering.ts"

export interface ResidentialSpec {
  readonly id: number
  readonly name: string
  readonly time_zone: string
  readonly flats: number
  /** Flats on one floor; 4 by default. */
  readonly perFloor?: number
  readonly firstIds?: FirstIds
  /** How people usually open doors, and the share of each way. */
  readonly methods: ReadonlyArray<readonly [EntryMethod, number]>
}

/** Dwellers of a flat by its size (CIBSE Guide D table 3.12) and how common the sizes are (assumed). */
const flatSizes: ReadonlyArray<readonly [dwellers: number, share: number]> = [
  [1.5, 0.2],
  [1.8, 0.4],
  [3.0, 0.3],
  [4.0, 0.1]
]

/** Dwellers who hold a credential: the others are children (assumed). */
export const credentialShare = 0.8

/** Residents who come and go by car, and by the courtyard (assumed). */
const garageShare = 0.3
const courtyardShare = 0.15

/** Residents who go out to work on working days (assumed). */
const workingShare = 0.65

/** Members of a household who share its name (assumed). */
const sharedNameShare = 0.6

/** From so many flats on a house has a courtyard with its own panel, and a gym. */
const largeHouse = 60

const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"

/** Credential holders of one flat: never none. */
const householdSize = (rng: Rng): number => {
  const mean = weighted(rng, flatSizes, 2)
  const dwellers = Math.floor(mean) + (chance(rng, mean - Math.floor(mean)) ? 1 : 0)
  let holders = 0
  for (let dweller = 0; dweller < dwellers; dweller++) if (chance(rng, credentialShare)) holders++
  return Math.max(1, holders)
}

interface Doors {
  readonly front: AccessPoint
  readonly garage: AccessPoint
  /** Null in a small house. */
  readonly courtyard: AccessPoint | null
  readonly rooms: ReadonlyArray<AccessPoint>
}

const doorsOf = (flats: number, firstId: number): Doors => {
  const door = doorMaker(firstId)
  const isLarge = flats >= largeHouse
  return {
    front: door("Front door", "entrance", { camera: true }),
    garage: door("Garage gate", "garage", { camera: true }),
    courtyard: isLarge ? door("Courtyard door", "entrance", { camera: true }) : null,
    rooms: [
      door("Bike room", "interior", { camera: false }),
      door("Parcel room", "interior", { camera: true }),
      ...(isLarge ? [door("Gym", "interior", { camera: false })] : [])
    ]
  }
}

const panelsOf = ({ front, courtyard }: Doors, firstId: number): ReadonlyArray<Panel> => [
  { id: firstId, name: "Front door panel", access_point: front, use: "home" },
  ...(courtyard === null
    ? []
    : [{ id: firstId + 1, name: "Courtyard panel", access_point: courtyard, use: "home" } as const])
]

const residentOf = (
  rng: Rng,
  methods: ResidentialSpec["methods"],
  unit: Unit,
  tenant: TenantId,
  surname: string,
  doors: Doors
): Person => ({
  name: `${givenName(rng)} ${chance(rng, sharedNameShare) ? surname : familyName(rng)}`,
  unit,
  tenant_ids: [tenant],
  method: weighted(rng, methods, "pin"),
  entrance: weighted(
    rng,
    [
      [doors.garage, garageShare],
      [doors.courtyard ?? doors.front, courtyardShare]
    ],
    doors.front
  ),
  works: chance(rng, workingShare),
  habit: standardNormal(rng),
  activity: activityOf(rng)
})

export const residentialBuilding = (spec: ResidentialSpec): Building => {
  const { id, name, time_zone, flats, perFloor = 4, firstIds = firstIdsOf(id), methods } = spec
  const rng = new Rng(child(root("residential building"), id))
  const doors = doorsOf(flats, firstIds.access_point)
  const units: Array<Unit> = []
  const people: Array<Person> = []
  for (let flat = 0; flat < flats; flat++) {
    const tenant_ids = Array.from({ length: householdSize(rng) }, (_, member) =>
      TenantId.make(firstIds.tenant + people.length + member)
    )
    const unit: Unit = {
      id: firstIds.unit + flat,
      label: `${1 + Math.floor(flat / perFloor)}${letters[flat % perFloor] ?? ""}`,
      use: "home",
      tenant_ids,
      door: null
    }
    units.push(unit)
    const surname = familyName(rng)
    for (const tenant of tenant_ids) people.push(residentOf(rng, methods, unit, tenant, surname, doors))
  }
  return {
    id: BuildingId.make(id),
    name,
    time_zone,
    access_points: [doors.front, doors.garage, ...(doors.courtyard === null ? [] : [doors.courtyard]), ...doors.rooms],
    shared_rooms: doors.rooms,
    panels: panelsOf(doors, firstIds.panel),
    units,
    people
  }
}
