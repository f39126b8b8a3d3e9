/**
 * What happens at a door, before anybody writes it down: the language between traffic and plan.
 */
import type { BuildingId, CallData, TenantId } from "@doorhook/core"
import type { AccessPoint, EntryMethod, Panel, Unit } from "../world/Building.ts"
import type { FlowName } from "./Flow.ts"

interface Common {
  /** In milliseconds since the epoch. */
  readonly time: number
  /** Unique in a plan, for calls and accesses together. */
  readonly id: number
  readonly flow: FlowName
  readonly building_id: BuildingId
  /** The tenants whose unit or access tools are involved. */
  readonly tenant_ids: ReadonlyArray<TenantId>
}

/** Somebody rings. */
export interface Call extends Common {
  readonly _tag: "Call"
  readonly guid: string
  readonly notification_type: CallData["notification_type"]
  readonly unit: Unit
  readonly panel: Panel
}

/** A door is unlocked. */
export interface Access extends Common {
  readonly _tag: "Access"
  readonly access_point: AccessPoint
  readonly entry_method: EntryMethod
  /** Who, or whose code it was. */
  readonly name: string
}

export type Happening = Call | Access
