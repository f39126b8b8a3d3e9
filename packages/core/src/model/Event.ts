/**
 * Events: as published by the host, as stored, and as sent to receivers.
 */
import { Schema } from "effect"
import { BuildingId, EventId, TenantId } from "./Ids.ts"
import { JsonText } from "./JsonText.ts"
import { Action, ResourceType } from "./ResourceType.ts"

/** Maximum size of an event's `data`, in bytes of UTF-8. */
export const maxDataBytes = 256 * 1024

/** Maximum number of events in one publish call. */
export const maxEventsPerPublish = 1_000

/** An event as published by the host. `data` is JSON text that reaches receivers without being encoded again. */
export const NewEvent = Schema.Struct({
  resource_type: ResourceType,
  action: Action,
  building_id: BuildingId,
  /** The tenants whose own unit or access tools are involved (interface document, section 4.2, rule 1). */
  tenant_ids: Schema.Array(TenantId),
  data: JsonText
})
export type NewEvent = typeof NewEvent.Type

/** An event as stored. */
export const Event = Schema.Struct({
  id: EventId,
  ...NewEvent.fields,
  /** Time of publication, in milliseconds since the epoch. */
  created_at: Schema.Int
})
export type Event = typeof Event.Type

/**
 * Returns the body of every delivery of an event (interface document, section 2.3). It has exactly the members below,
 * with `data` as published. The bytes are the same for all attempts and integrations.
 */
export const bodyOf = (event: Pick<Event, "resource_type" | "action" | "data">): string =>
  `{"event":{"resource_type":"${event.resource_type}","action":"${event.action}","data":${event.data}}}`

/** `data` of an `access_log` event (interface document, section 2.3). Hosts may add members. */
export const AccessLogData = Schema.Struct({
  id: Schema.Int,
  logged_at: Schema.String,
  access_point: Schema.Int,
  entry_method: Schema.String,
  release_status: Schema.String,
  name: Schema.String,
  image_url: Schema.NullOr(Schema.String)
})
export type AccessLogData = typeof AccessLogData.Type

/** `data` of a `call_end` event. `call_id` is the `id` of the call; `reason` is why the ringing ends. */
export const CallEndData = Schema.Struct({
  id: Schema.Int,
  call_id: Schema.Int,
  reason: Schema.Literals(["answered", "answered_elsewhere", "rejected", "missed", "cancelled"]),
  ended_at: Schema.String
})
export type CallEndData = typeof CallEndData.Type

/** `data` of a `call` event: enough to ring and to look up the call, without personal data. */
export const CallData = Schema.Struct({
  id: Schema.Int,
  guid: Schema.String,
  logged_at: Schema.String,
  status: Schema.Literals(["initializing"]),
  notification_type: Schema.Literals(["visitor", "delivery"]),
  unit: Schema.NullOr(Schema.Struct({ id: Schema.Int, label: Schema.String })),
  panel: Schema.Struct({ id: Schema.Int, name: Schema.String }),
  image_url: Schema.NullOr(Schema.String)
})
export type CallData = typeof CallData.Type
