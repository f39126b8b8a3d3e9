/** Occurrences at doors, before devices record them: the interface between traffic and plan. */
import type { BuildingId, CallData, CallEndData, TenantId } from "@doorhook/core"
import type { AccessPoint, EntryMethod, Panel, Unit } from "../world/Building.ts"
import type { FlowName } from "./Flow.ts"

/**
 * Role of a person in a group that comes or goes together. A leader comes at an individual time and can be alone; a
 * follower comes right behind. An `exit` is a request to exit, which needs no credential. `arrival` is the first arrival of the day or the arrival of an outsider, and `lunch` is
 * the exit at noon.
 */
export type Role = "other" | "exit" | "arrival leader" | "arrival follower" | "lunch leader" | "lunch follower"

/** Kinds of anomaly, which are also their labels. */
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
  /** Time of the occurrence, in milliseconds since the epoch. */
  readonly time: number
  /** Unique among all calls and accesses of a plan. */
  readonly id: number
  readonly flow: FlowName
  readonly building_id: BuildingId
  /** Tenants whose unit or credential is involved; none for strangers. */
  readonly tenant_ids: ReadonlyArray<TenantId>
  readonly role: Role
  /** Ground truth for detectors: the kind of anomaly, `denied`, or `repeated` for a second upload, else null. */
  readonly label: AnomalyKind | "denied" | "repeated" | null
  /** Id of the call that led to this opening or repeated ring. */
  readonly cause: number | null
}

/** A person rings. */
export interface Call extends Common {
  readonly _tag: "Call"
  readonly guid: string
  readonly notification_type: CallData["notification_type"]
  readonly unit: Unit
  readonly panel: Panel
  /** Time from the ring to the answer, in milliseconds; null if nobody answers. */
  readonly answered: number | null
  /** How long the call rings if nobody answers, in milliseconds. */
  readonly ring_out: number
}

/** A call stops ringing. `cause` is the call. */
export interface CallEnd extends Common {
  readonly _tag: "CallEnd"
  readonly cause: number
  readonly reason: CallEndData["reason"]
}

/** A person opens a door or tries to. */
export interface Access extends Common {
  readonly _tag: "Access"
  readonly access_point: AccessPoint
  readonly entry_method: EntryMethod | "none" | "request_to_exit"
  readonly release_status: "Unlocked" | "Denied" | "Held open" | "Forced"
  /** Holder of the credential. */
  readonly name: string
}

export type Occurrence = Call | Access
