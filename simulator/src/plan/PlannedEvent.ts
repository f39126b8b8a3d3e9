/**
 * An event as a plan holds it: one line of NDJSON, and what is published (without `at`) when its time has come.
 */
import { AccessLogData, Action, BuildingId, CallData, TenantId } from "@doorhook/core"
import { Schema } from "effect"
import type { Access, Call, Happening } from "../traffic/Happening.ts"
import { toIso } from "./IsoTime.ts"

const common = {
  /** When it happens: ISO 8601, UTC, with milliseconds. */
  at: Schema.String,
  building_id: BuildingId,
  tenant_ids: Schema.Array(TenantId)
}

export const PlannedEvent = Schema.Union([
  Schema.Struct({ ...common, resource_type: Schema.Literal("call"), action: Action, data: CallData }),
  Schema.Struct({ ...common, resource_type: Schema.Literal("access_log"), action: Action, data: AccessLogData })
])
export type PlannedEvent = typeof PlannedEvent.Type

const snapshotOf = ({ building_id, id }: Happening): string => `https://snapshots.example/${building_id}/${id}.jpg`

const callData = (call: Call, logged_at: string): CallData => ({
  id: call.id,
  guid: call.guid,
  logged_at,
  status: "initializing",
  notification_type: call.notification_type,
  unit: { id: call.unit.id, label: call.unit.label },
  panel: { id: call.panel.id, name: call.panel.name },
  image_url: snapshotOf(call)
})

const accessLogData = (access: Access, logged_at: string): AccessLogData => ({
  id: access.id,
  logged_at,
  access_point: access.access_point.id,
  entry_method: access.entry_method,
  release_status: "Unlocked",
  name: access.name,
  image_url: access.access_point.camera ? snapshotOf(access) : null
})

/** Writes down what happened. */
export const plannedEvent = (happening: Happening): PlannedEvent => {
  const at = toIso(happening.time)
  const { building_id, tenant_ids } = happening
  return happening._tag === "Call"
    ? { at, building_id, tenant_ids, resource_type: "call", action: "create", data: callData(happening, at) }
    : { at, building_id, tenant_ids, resource_type: "access_log", action: "create", data: accessLogData(happening, at) }
}

/** The same event at another time. */
export const movedTo = (event: PlannedEvent, instant: number): PlannedEvent => {
  const at = toIso(instant)
  return event.resource_type === "call"
    ? { ...event, at, data: { ...event.data, logged_at: at } }
    : { ...event, at, data: { ...event.data, logged_at: at } }
}
