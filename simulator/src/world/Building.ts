/**
 * A building and the people who hold access to it: what exists before anybody moves.
 *
 * A world depends on its scenario alone, never on the seed of a run, so that the ids in a directory fit every run.
 */
import type { BuildingId, TenantId } from "@doorhook/core"
import { chance, lognormal, oneOf, standardNormal, weighted } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import names from "./names.json" with { type: "json" }

/** How a door is opened; the values of `entry_method`. `app` releases it for somebody who rang. */
export type EntryMethod = "app" | "swipe_to_open" | "pin" | "qr_code"

/** Shares of the ways in which people usually open doors. */
export type Methods = ReadonlyArray<readonly [EntryMethod, number]>

/** A door under access control. */
export interface AccessPoint {
  readonly id: number
  readonly name: string
  /** Garages are left by a logged gate, entrances by a push on the handle unless the flow says otherwise. */
  readonly kind: "entrance" | "garage" | "interior"
  /** Doors without a camera have no snapshots. */
  readonly camera: boolean
}

/** What a unit is used as; `service` is the rooms of those who look after the building. */
export type UnitUse = "home" | "company" | "service"

/** An intercom panel, the door it releases, and the kind of unit that one can call from it. */
export interface Panel {
  readonly id: number
  readonly name: string
  readonly access_point: AccessPoint
  readonly use: UnitUse
}

/** A flat with its household, or the rooms of a company. */
export interface Unit {
  readonly id: number
  readonly label: string
  readonly use: UnitUse
  /** Everybody in a home is a tenant; a company is one tenant, whatever its size. */
  readonly tenant_ids: ReadonlyArray<TenantId>
  /** The door to a company's own rooms. */
  readonly door: AccessPoint | null
}

/** What somebody does in a building. */
export type Duty = "resident" | "employee" | "cleaner" | "guard"

/** A holder of a credential. */
export interface Person {
  readonly name: string
  readonly duty: Duty
  readonly unit: Unit
  readonly tenant_ids: ReadonlyArray<TenantId>
  /** The way this person usually opens doors. */
  readonly method: EntryMethod
  /** The door this person usually comes in by. */
  readonly entrance: AccessPoint
  /** Whether this person goes out to work on working days. */
  readonly works: boolean
  /** Place among those who work shifts, from 0 to 1: a flow's shares say which shift that is. */
  readonly shift: number
  /** Habit: how much earlier (negative) or later than others, in standard deviations. */
  readonly habit: number
  /** How many times as active as others; the mean over people is 1, a few are far more active (heavy tail). */
  readonly activity: number
}

/** How many people of a duty are replaced in a year, and how they open doors. */
export interface Staffing {
  readonly turnover: number
  readonly methods: Methods
}

/** What a building is for, as validation judges it. */
export const buildingUses = ["office", "residential", "hotel", "hospital", "mixed"] as const
export type BuildingUse = (typeof buildingUses)[number]

export interface Building {
  readonly id: BuildingId
  readonly name: string
  readonly use: BuildingUse
  /** IANA name, like `Europe/Berlin`. */
  readonly time_zone: string
  readonly access_points: ReadonlyArray<AccessPoint>
  /** Rooms behind a door of their own that everybody in a home may use. */
  readonly shared_rooms: ReadonlyArray<AccessPoint>
  /** Of each use, the first is at the main entrance. */
  readonly panels: ReadonlyArray<Panel>
  readonly units: ReadonlyArray<Unit>
  /** Those who are there at first; a `Roster` says who is there on a day. */
  readonly people: ReadonlyArray<Person>
  readonly staffing: Readonly<Partial<Record<Duty, Staffing>>>
}

/** One building with the doors, units and people of both. */
export const joined = (first: Building, second: Building): Building => ({
  ...first,
  access_points: [...first.access_points, ...second.access_points],
  shared_rooms: [...first.shared_rooms, ...second.shared_rooms],
  panels: [...first.panels, ...second.panels],
  units: [...first.units, ...second.units],
  people: [...first.people, ...second.people],
  staffing: { ...first.staffing, ...second.staffing }
})

/** The first id of each kind of part. */
export type FirstIds = Readonly<Record<"tenant" | "access_point" | "unit" | "panel", number>>

/** Where ids begin: room for a thousand of each kind in every building, the last hundred for the offices above homes. */
export const firstIdsOf = (building: number, offset = 0): FirstIds => {
  const first = building * 1_000 + 1 + offset
  return { tenant: first, access_point: first, unit: first, panel: first }
}

/** The room of homes in the ids of a building with offices too: at most 400 flats with 900 tenants. */
export const homesRoom = 900

/** Makes doors with rising ids. */
export const doorMaker = (firstId: number) => {
  let id = firstId
  return (name: string, kind: AccessPoint["kind"], camera: boolean): AccessPoint => ({ id: id++, name, kind, camera })
}

export const givenName = (rng: Rng): string => oneOf(rng, names.given) ?? ""
export const familyName = (rng: Rng): string => oneOf(rng, names.family) ?? ""
export const fullName = (rng: Rng): string => `${givenName(rng)} ${familyName(rng)}`

/** Spread of the logarithm of activity (assumed), and the median with which the mean is 1: exp(-sigma^2 / 2). */
const activity = { sigma: 0.8, median: 0.7261490370736909 }

/** Residents who go out to work on working days (assumed). */
const workingShare = 0.65

/** The traits that a person brings along. */
export const traitsOf = (rng: Rng, duty: Duty, methods: Methods) => ({
  method: weighted(rng, methods, "pin"),
  works: duty !== "resident" || chance(rng, workingShare),
  shift: rng.uniform(),
  habit: standardNormal(rng),
  activity: lognormal(rng, activity)
})
