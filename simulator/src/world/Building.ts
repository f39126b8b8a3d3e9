/**
 * A building and the people with access to it.
 *
 * Buildings depend only on the scenario, never on the seed of a run. So the ids in a generated directory match the ids
 * in every run.
 */
import type { BuildingId, TenantId } from "@doorhook/core"
import { chance, lognormal, oneOf, standardNormal, weighted } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import names from "./names.json" with { type: "json" }

/** Ways to open a door; the values of `entry_method`. With `app`, a tenant opens the door for somebody who rang. */
export type EntryMethod = "app" | "swipe_to_open" | "pin" | "qr_code"

/** Shares of the ways in which people usually open doors. */
export type Methods = ReadonlyArray<readonly [EntryMethod, number]>

/** A door under access control. */
export interface AccessPoint {
  readonly id: number
  readonly name: string
  /** Leaving through a garage is logged. Leaving through an entrance is not, unless the flow logs exits. */
  readonly kind: "entrance" | "garage" | "interior"
  /** Doors without a camera have no snapshots. */
  readonly camera: boolean
}

/** Use of a unit. `service` stands for the rooms of building services. */
export type UnitUse = "home" | "company" | "service"

/** An intercom panel, the door that it opens, and the kind of unit that can be called from it. */
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
  /** In a home, each person is a tenant. A company is a single tenant, whatever its size. */
  readonly tenant_ids: ReadonlyArray<TenantId>
  /** Door to the rooms of a company. */
  readonly door: AccessPoint | null
}

/** Role of a person in a building. */
export type Duty = "resident" | "employee" | "cleaner" | "guard"

/** A holder of a credential. */
export interface Person {
  readonly name: string
  readonly duty: Duty
  readonly unit: Unit
  readonly tenant_ids: ReadonlyArray<TenantId>
  /** Usual way of opening doors. */
  readonly method: EntryMethod
  /** Usual entrance. */
  readonly entrance: AccessPoint
  /** Whether the person goes out to work on working days. */
  readonly works: boolean
  /** Random number from 0 to 1. Together with the shares of a flow, it determines the person's shift. */
  readonly shift: number
  /** How much later than average the person usually is, in standard deviations; negative if earlier. */
  readonly habit: number
  /** Activity relative to the mean of all people. A few people are far more active (heavy tail). */
  readonly activity: number
}

/** For all people with one duty: the share replaced in a year, and how they open doors. */
export interface Staffing {
  readonly turnover: number
  readonly methods: Methods
}

/** Uses of a building. Validation has different expectations for each use. */
export const buildingUses = ["office", "residential", "hotel", "hospital", "mixed"] as const
export type BuildingUse = (typeof buildingUses)[number]

export interface Building {
  readonly id: BuildingId
  readonly name: string
  readonly use: BuildingUse
  /** IANA name, like `Europe/Berlin`. */
  readonly time_zone: string
  readonly access_points: ReadonlyArray<AccessPoint>
  /** Rooms behind a door that all residents may use. */
  readonly shared_rooms: ReadonlyArray<AccessPoint>
  /** The first panel of each use is at the main entrance. */
  readonly panels: ReadonlyArray<Panel>
  readonly units: ReadonlyArray<Unit>
  /** The original people. A `Roster` returns the people on a given day. */
  readonly people: ReadonlyArray<Person>
  readonly staffing: Readonly<Partial<Record<Duty, Staffing>>>
}

/** Joins two buildings into one with the doors, units and people of both. */
export const joined = (first: Building, second: Building): Building => ({
  ...first,
  access_points: [...first.access_points, ...second.access_points],
  shared_rooms: [...first.shared_rooms, ...second.shared_rooms],
  panels: [...first.panels, ...second.panels],
  units: [...first.units, ...second.units],
  people: [...first.people, ...second.people],
  staffing: { ...first.staffing, ...second.staffing }
})

/** First id for each kind of part. */
export type FirstIds = Readonly<Record<"tenant" | "access_point" | "unit" | "panel", number>>

/**
 * Returns the first ids of a building. Each building has a thousand ids of each kind. In a building with homes and
 * offices, the last hundred are for offices.
 */
export const firstIdsOf = (building: number, offset = 0): FirstIds => {
  const first = building * 1_000 + 1 + offset
  return { tenant: first, access_point: first, unit: first, panel: first }
}

/** Number of ids for the homes in a building with homes and offices. This is enough for 400 flats with 900 tenants. */
export const homesRoom = 900

/** Returns a function that makes doors with rising ids. */
export const doorMaker = (firstId: number) => {
  let id = firstId
  return (name: string, kind: AccessPoint["kind"], camera: boolean): AccessPoint => ({ id: id++, name, kind, camera })
}

export const givenName = (rng: Rng): string => oneOf(rng, names.given) ?? ""
export const familyName = (rng: Rng): string => oneOf(rng, names.family) ?? ""
export const fullName = (rng: Rng): string => `${givenName(rng)} ${familyName(rng)}`

/** Spread of the logarithm of activity (assumed), and the median for which the mean is 1: exp(-sigma^2 / 2). */
const activity = { sigma: 0.8, median: 0.7261490370736909 }

/** Share of residents who go out to work on working days (assumed). */
const workingShare = 0.65

/** Draws the traits of a person. */
export const traitsOf = (rng: Rng, duty: Duty, methods: Methods) => ({
  method: weighted(rng, methods, "pin"),
  works: duty !== "resident" || chance(rng, workingShare),
  shift: rng.uniform(),
  habit: standardNormal(rng),
  activity: lognormal(rng, activity)
})
