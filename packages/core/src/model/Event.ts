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
 * Returns the body of a delivery of an event (interface document, section 2.3). It has exactly the members below, with
 * `data` as published or reduced. The bytes are the same for all attempts and for all integrations that get the same
 * detail. `self` is the URL of the event, if `data` has only an id.
 */
export const bodyOf = ({
  action,
  data,
  resource_type,
  self
}: Pick<Event, "resource_type" | "action" | "data"> & { readonly self?: string }): string => {
  const links = self === undefined ? "" : `,"links":{"self":${JSON.stringify(self)}}`
  return `{"event":{"resource_type":"${resource_type}","action":"${action}","data":${data}}${links}}`
}
