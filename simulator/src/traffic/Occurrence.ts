/**
 * What happens at a door, before it is written down: the language between traffic and plan.
 */
import type { BuildingId, CallData, TenantId } from "@doorhook/core"
import type { AccessPoint, EntryMethod, Panel, Unit } from "../world/Building.ts"
import type { FlowName } from "./Flow.ts"

/**
 * The part of somebody in a group, for those who come or go together: a leader comes at a time of their own (and who comes
 * alone leads), a follower is right behind. `arrival` is the first coming of the day, or an outsider's; `lunch` is going
 * out at noon.
 */
export type Role = "other" | "arrival leader" | "arrival follower" | "lunch leader" | "lunch follower"

/** The kinds of anomaly, each a label too. */
export const anomalyKinds = [
  "buzzer_spam",
  "stuck_button",
  "pin_guessing",
  "shared_credential",
  "door_held",
  "door_forced",
  "night_entry"
] as const
export type AnomalyKind = (typeof anomalyKinds)[number]

interface Common {
  /** When it happens, in milliseconds since the epoch. */
  readonly time: number
  /** Unique in a plan, for calls and accesses together. */
  readonly id: number
  readonly flow: FlowName
  readonly building_id: BuildingId
  /** The tenants whose unit or access tools are involved; none for strangers. */
  readonly tenant_ids: ReadonlyArray<TenantId>
  readonly role: Role
  /** Ground truth for detectors: what is out of the ordinary. */
  readonly label: AnomalyKind | "denied" | null
  /** The call that this follows from: of an opened door, of a repeated ring. */
  readonly cause: number | null
}

/** Somebody rings. */
export interface Call extends Common {
  readonly _tag: "Call"
  readonly guid: string
  readonly notification_type: CallData["notification_type"]
  readonly unit: Unit
  readonly panel: Panel
}

/** Somebody opens a door, or tries to. */
export interface Access extends Common {
  readonly _tag: "Access"
  readonly access_point: AccessPoint
  readonly entry_method: EntryMethod | "none"
  readonly release_status: "Unlocked" | "Denied" | "Held open" | "Forced"
  /** The holder of the credential. */
  readonly name: string
}

export type Occurrence = Call | Access
