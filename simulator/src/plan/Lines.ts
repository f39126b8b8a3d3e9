/**
 * Records as lines of NDJSON, without building events first: the same bytes as `JSON.stringify` of the planned event,
 * several times as fast. The plan of a large scenario is mostly this.
 */
import type { TenantId } from "@doorhook/core"
import type { Access, Call } from "../traffic/Happening.ts"
import type { AccessPoint, Panel, Unit } from "../world/Building.ts"
import { toIso } from "./IsoTime.ts"
import { snapshotOf } from "./PlannedEvent.ts"
import type { Recorded } from "./Recording.ts"

/** Makes the text of something once for each object. */
const remembered = <A extends object>(make: (thing: A) => string): ((thing: A) => string) => {
  const texts = new WeakMap<A, string>()
  return (thing) => {
    const known = texts.get(thing)
    if (known !== undefined) return known
    const text = make(thing)
    texts.set(thing, text)
    return text
  }
}

const tenantsText = remembered((tenants: ReadonlyArray<TenantId>) => JSON.stringify(tenants))
const unitText = remembered(({ id, label }: Unit) => JSON.stringify({ id, label }))
const panelText = remembered(({ id, name }: Panel) => JSON.stringify({ id, name }))
const doorText = remembered(({ id }: AccessPoint) => `,"access_point":${id},"entry_method":"`)

/** Texts of names, as many as are worth remembering. */
const names = new Map<string, string>()
const mostNames = 50_000

const nameText = (name: string): string => {
  const known = names.get(name)
  if (known !== undefined) return known
  const text = JSON.stringify(name)
  if (names.size < mostNames) names.set(name, text)
  return text
}

const four = Array.from({ length: 10_000 }, (_, number) => `${number}`.padStart(4, "0"))
const lowRoom = 1e8
let lastHigh = 0
let lastHighText = ""

/** An id in decimal. Long numbers are slow to write, and their upper digits are mostly those of the one before. */
const idText = (id: number): string => {
  const high = Math.floor(id / lowRoom)
  if (high === 0) return `${id}`
  if (high !== lastHigh) {
    lastHigh = high
    lastHighText = `${high}`
  }
  const low = id - high * lowRoom
  const upper = Math.floor(low / 10_000)
  return `${lastHighText}${four[upper]}${four[low - upper * 10_000]}`
}

const accessText = (access: Access, logged_at: string): string => {
  const { access_point, entry_method, id, name, release_status } = access
  const number = idText(id)
  const image = access_point.camera ? `"${snapshotOf(access.building_id, number)}"` : "null"
  return `"access_log","action":"create","data":{"id":${number},"logged_at":"${logged_at}"${doorText(access_point)}${entry_method}","release_status":"${release_status}","name":${nameText(name)},"image_url":${image}}}\n`
}

const callText = (call: Call, logged_at: string): string => {
  const { guid, id, notification_type, panel, unit } = call
  const number = idText(id)
  return `"call","action":"create","data":{"id":${number},"guid":"${guid}","logged_at":"${logged_at}","status":"initializing","notification_type":"${notification_type}","unit":${unitText(unit)},"panel":${panelText(panel)},"image_url":"${snapshotOf(call.building_id, number)}"}}\n`
}

/** The line of a record, its end included. */
export const lineOf = ({ happening, ...times }: Recorded): string => {
  const at = toIso(times.at)
  const logged_at = times.logged_at === times.at ? at : toIso(times.logged_at)
  const { building_id, tenant_ids } = happening
  const data = happening._tag === "Call" ? callText(happening, logged_at) : accessText(happening, logged_at)
  return `{"at":"${at}","building_id":${building_id},"tenant_ids":${tenantsText(tenant_ids)},"resource_type":${data}`
}
