/**
 * A building and the people who hold access to it: what exists before anybody moves.
 *
 * A world depends on its scenario alone, never on the seed of a run, so that the ids in a directory fit every run.
 */
import type { BuildingId, TenantId } from "@doorhook/core"

/** How a door is opened; the values of `entry_method` (document section 6: by app, PIN or QR code). */
export type EntryMethod =
  /** In the app, by the person who was called. */
  | "app"
  /** In the app, standing at the door. */
  | "swipe_to_open"
  | "pin"
  | "qr_code"

/** A door that is under access control. */
export interface AccessPoint {
  readonly id: number
  readonly name: string
  /** Garages are left by a logged gate, entrances by a push on the handle unless the building's flow says otherwise. */
  readonly kind: "entrance" | "garage" | "interior"
  /** Doors without a camera have no snapshots. */
  readonly camera: boolean
}

/** What a unit is used as. */
export type Use = "home" | "company"

/** An intercom panel, the door it releases, and whom one can call from it. */
export interface Panel {
  readonly id: number
  readonly name: string
  readonly access_point: AccessPoint
  readonly use: Use
}

/** A flat with its household, or the rooms of a company. */
export interface Unit {
  readonly id: number
  readonly label: string
  readonly use: Use
  /** Everybody in a home is a tenant; a company is one tenant, whatever its size. */
  readonly tenant_ids: ReadonlyArray<TenantId>
  /** The door to a company's own rooms. */
  readonly door: AccessPoint | null
}

/** Somebody who holds a credential. */
export interface Person {
  readonly name: string
  readonly unit: Unit
  /** The tenants whose access tools this person uses. */
  readonly tenant_ids: ReadonlyArray<TenantId>
  /** The way this person usually opens doors. */
  readonly method: EntryMethod
  /** The door this person usually comes in by. */
  readonly entrance: AccessPoint
  /** Whether this person goes out to work on working days. */
  readonly works: boolean
  /** Habit: how much earlier (negative) or later than others, in standard deviations. */
  readonly habit: number
  /** How many times as active as others; the mean over people is 1, a few are far more active (heavy tail). */
  readonly activity: number
}

export interface Building {
  readonly id: BuildingId
  readonly name: string
  /** IANA name, like `Europe/Berlin`. */
  readonly time_zone: string
  readonly access_points: ReadonlyArray<AccessPoint>
  /** Rooms behind a door of their own that everybody in a home may use. */
  readonly shared_rooms: ReadonlyArray<AccessPoint>
  /** Of each use, the first is at the main entrance. */
  readonly panels: ReadonlyArray<Panel>
  readonly units: ReadonlyArray<Unit>
  readonly people: ReadonlyArray<Person>
}

/** One building with the doors, units and people of both. */
export const joined = (first: Building, second: Building): Building => ({
  ...first,
  access_points: [...first.access_points, ...second.access_points],
  shared_rooms: [...first.shared_rooms, ...second.shared_rooms],
  panels: [...first.panels, ...second.panels],
  units: [...first.units, ...second.units],
  people: [...first.people, ...second.people]
})
