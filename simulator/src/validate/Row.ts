/** The parts of an event that validation needs, from a plan, a recorded log in NDJSON, or an access log in CSV. */
import type { LogEntry } from "../plan/AccessLog.ts"
import type { EventRow } from "../plan/EventRow.ts"
import { plannedEvent } from "../plan/PlannedEvent.ts"
import type { Recorded } from "../plan/Controllers.ts"

export interface Row {
  /** Time of publication, and time in the device's log, in milliseconds since the epoch. */
  readonly at: number
  readonly logged_at: number
  readonly building: number
  readonly isCall: boolean
  /** Unique among calls or among accesses; null if the log has no ids. */
  readonly id: number | string | null
  readonly door: string
  /** Unit or tenants of the event. */
  readonly unit: string
  /** Holder of the credential; empty for strangers, couriers and calls. */
  readonly person: string
  readonly isFromApp: boolean
  readonly isDenied: boolean
}

const holder = (name: string, isKnown: boolean): string => (isKnown && name !== "Courier" ? name : "")

/** Returns the row for a record of a plan. */
export const ofRecord = (record: Recorded): Row => ofEvent({ ...record, event: plannedEvent(record) })

/** Returns the row for a line of NDJSON. */
export const ofEvent = ({ at, event, logged_at }: EventRow): Row => {
  const common = { at, logged_at, building: event.building_id, id: event.data.id, unit: event.tenant_ids.join() }
  return event.resource_type === "call"
    ? { ...common, isCall: true, door: event.data.panel.name, person: "", isFromApp: false, isDenied: false }
    : {
        ...common,
        isCall: false,
        door: `${event.data.access_point}`,
        person: holder(event.data.name, event.tenant_ids.length > 0),
        isFromApp: event.data.entry_method === "app",
        isDenied: event.data.release_status === "Denied"
      }
}

/** Returns the row for an entry of an access log. */
export const ofEntry = ({ door, isCall, isDenied, isDelivery, isFromApp, person, time, unit }: LogEntry): Row => ({
  at: time,
  logged_at: time,
  building: 0,
  isCall,
  id: null,
  door,
  unit,
  person: holder(person, !isDelivery),
  isFromApp,
  isDenied
})
