/** An event of a plan: one line of NDJSON. `at` is the time of publication. The published event does not contain it. */
import {
  AccessLogData,
  Action,
  builtInTable,
  BuildingId,
  CallData,
  CallEndData,
  callEndType,
  TenantId
} from "@doorhook/core"
import { Schema } from "effect"
import type { Access, Call } from "../traffic/Occurrence.ts"
import { formatDay } from "../world/CalendarDate.ts"
import { dayMillis, hour, minute, second } from "../world/LocalTime.ts"
import type { Recorded } from "./Devices.ts"

const common = {
  /** Time of publication: ISO 8601, UTC, with milliseconds. */
  at: Schema.String,
  building_id: BuildingId,
  tenant_ids: Schema.Array(TenantId)
}

/** Members that lines of all types share. Used to report the problems of lines with an unknown type. */
export const AnyPlannedEvent = Schema.Struct({
  ...common,
  resource_type: Schema.Literals([...builtInTable.keys(), callEndType]),
  action: Action,
  data: Schema.Record(Schema.String, Schema.Unknown)
})

export const PlannedEvent = Schema.Union([
  Schema.Struct({ ...common, resource_type: Schema.Literal("call"), action: Action, data: CallData }),
  Schema.Struct({ ...common, resource_type: Schema.Literal("access_log"), action: Action, data: AccessLogData }),
  Schema.Struct({ ...common, resource_type: Schema.Literal(callEndType), action: Action, data: CallEndData })
])
export type PlannedEvent = typeof PlannedEvent.Type

const two = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"))
const three = Array.from({ length: 1_000 }, (_, number) => `${number}`.padStart(3, "0"))

let lastMinute = Number.NaN
let lastPrefix = ""

const prefixOf = (instant: number): string => {
  const day = Math.floor(instant / dayMillis)
  const time = instant - day * dayMillis
  return `${formatDay(day)}T${two[Math.floor(time / hour)]}:${two[Math.floor(time / minute) % 60]}:`
}

/**
 * Formats whole milliseconds since the epoch as ISO 8601 in UTC. Every event has two such times, so the text of the
 * last minute is cached.
 */
export const toIso = (instant: number): string => {
  const whole = Math.floor(instant / minute)
  if (whole !== lastMinute) {
    lastPrefix = prefixOf(instant)
    lastMinute = whole
  }
  const rest = instant - whole * minute
  const seconds = Math.floor(rest / second)
  return `${lastPrefix}${two[seconds]}.${three[rest - seconds * second]}Z`
}

/** Parses a text written by `toIso`. */
export const fromIso = (text: string): number => Date.parse(text)

/** Returns a made-up URL for a snapshot. */
const snapshotOf = (building_id: BuildingId, id: number): string => `https://snapshots.example/${building_id}/${id}.jpg`

const callData = (call: Call, logged_at: string): CallData => ({
  id: call.id,
  guid: call.guid,
  logged_at,
  status: "initializing",
  notification_type: call.notification_type,
  unit: { id: call.unit.id, label: call.unit.label },
  panel: { id: call.panel.id, name: call.panel.name },
  image_url: snapshotOf(call.building_id, call.id)
})

const accessLogData = (access: Access, logged_at: string): AccessLogData => ({
  id: access.id,
  logged_at,
  access_point: access.access_point.id,
  entry_method: access.entry_method,
  release_status: access.release_status,
  name: access.name,
  image_url: access.access_point.camera ? snapshotOf(access.building_id, access.id) : null
})

/** Makes the planned event of a record. */
export const plannedEvent = ({ occurrence, ...times }: Recorded): PlannedEvent => {
  const at = toIso(times.at)
  const logged_at = times.logged_at === times.at ? at : toIso(times.logged_at)
  const { building_id, id, tenant_ids } = occurrence
  const common = { at, building_id, tenant_ids }
  switch (occurrence._tag) {
    case "Call":
      return { ...common, resource_type: "call", action: "create", data: callData(occurrence, logged_at) }
    case "Access":
      return { ...common, resource_type: "access_log", action: "create", data: accessLogData(occurrence, logged_at) }
    case "CallEnd": {
      const { cause, reason } = occurrence
      const data = { id, call_id: cause, reason, ended_at: logged_at }
      return { ...common, resource_type: callEndType, action: "create", data }
    }
  }
}

/** Returns the line of a record, including the line break. */
export const lineOf = (record: Recorded): string => `${JSON.stringify(plannedEvent(record))}\n`

/** Returns the time that the device logged. */
export const loggedAt = (event: PlannedEvent): string =>
  event.resource_type === callEndType ? event.data.ended_at : event.data.logged_at

/** Moves an event to another time. The lag between the device's log and the publication stays the same, to the second. */
export const movedTo = (event: PlannedEvent, instant: number): PlannedEvent => {
  const at = toIso(instant)
  const before = loggedAt(event)
  const lag = before === event.at ? 0 : fromIso(event.at) - fromIso(before)
  const isWhole = lag !== 0 && before.endsWith(".000Z")
  const logged_at = lag === 0 ? at : toIso(isWhole ? Math.floor((instant - lag) / second) * second : instant - lag)
  switch (event.resource_type) {
    case "call":
      return { ...event, at, data: { ...event.data, logged_at } }
    case "access_log":
      return { ...event, at, data: { ...event.data, logged_at } }
    case callEndType:
      return { ...event, at, data: { ...event.data, ended_at: logged_at } }
  }
}
