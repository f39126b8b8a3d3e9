/**
 * Buildings, tenants, and what happened there as JSON:API resources.
 */
import { isoOf, JsonText } from "@doorhook/core"
import type { DirectoryBuilding, DirectoryTenant, Event } from "@doorhook/core"

export const buildingResource = (publicUrl: string, { access_points, id, name, time_zone }: DirectoryBuilding) => ({
  type: "buildings",
  id: String(id),
  attributes: { name, time_zone, access_points },
  links: { self: `${publicUrl}/v4/buildings/${id}` }
})

export const tenantResource = ({ building_id, id, unit }: DirectoryTenant) => ({
  type: "tenants",
  id: String(id),
  attributes: { unit },
  relationships: { building: { data: { type: "buildings", id: String(building_id) } } }
})

/** An id at the beginning of the data, as a whole number. */
const idAtFirst = /^\{"id":(-?\d+)[,}]/

/**
 * The id that the host gave what happened, if it is a text or a whole number; else that of the event. A number is read
 * as it is written: it may be longer than a program's own numbers are.
 */
const idOf = ({ data, id }: Event): string => {
  // Most hosts write the id first, and once: the rest needs no reading.
  const first = idAtFirst.exec(data)?.[1]
  if (first !== undefined && !data.includes('"id"', 6) && !data.includes("\\")) return first
  const own = JsonText.membersNamed(data, "id").at(-1) ?? ""
  if (/^-?\d+$/.test(own)) return own
  const text: unknown = own.startsWith('"') ? JSON.parse(own) : ""
  return typeof text === "string" && text !== "" ? text : id
}

/** An event as JSON text, because its attributes must be the text that was published; `type` is that of the resource. */
export const eventText = (type: string, event: Event): string => {
  const meta = JSON.stringify({ event_id: event.id, created_at: isoOf(event.created_at) })
  return `{"type":"${type}","id":${JSON.stringify(idOf(event))},"attributes":${event.data},"meta":${meta}}`
}
