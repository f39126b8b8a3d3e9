/**
 * Which call an event begins or ends. The end of a call cancels the deliveries of the call that still wait, so that no
 * phone rings after somebody has answered. It doesn't matter whether the call or its end is published first.
 */
import type { Event, NewEvent } from "./Event.ts"
import { membersNamed } from "./JsonText.ts"
import type { JsonText } from "./JsonText.ts"
import { builtInTypes, callEndType } from "./ResourceType.ts"

/** The call that an event of type `call` begins or an event of type `call_end` ends, in the event's building. */
export interface CallMark {
  /** The id of the call as text, as in `/v4`: `data.id` of the call, and `data.call_id` of its end. */
  readonly id: string
  readonly isEnd: boolean
}

/** How long a call and its end are matched, in milliseconds. */
export const callLifetime = builtInTypes.call.retry.lifetime

/** Matches data whose first member is a numeric id. */
const idAtFirst = /^\{"id":(-?\d+)[,}]/

/** NUL and halves of surrogate pairs, which a text in PostgreSQL can't have. */
const unstorable = /[\0\ud800-\udfff]/u

/**
 * Returns a member of an event's data as an id: a whole number, or a text that is not empty. Null for other values.
 * Numbers are copied as text, because they may be too large for JavaScript's numbers. The last of several members counts.
 */
export const idIn = (data: JsonText, name: string): string | null => {
  // Fast path: most hosts write the id first, and only once.
  const first = name === "id" ? idAtFirst.exec(data)?.[1] : undefined
  if (first !== undefined && !data.includes('"id"', 6) && !data.includes("\\")) return first
  const own = membersNamed(data, name).at(-1) ?? ""
  if (/^-?\d+$/.test(own)) return own
  const text: unknown = own.startsWith('"') ? JSON.parse(own) : ""
  return typeof text === "string" && text !== "" ? text : null
}

/** Returns the call that an event begins or ends; null for other events, and for a call without an id. */
export const callMarkOf = ({ data, resource_type }: Pick<NewEvent, "data" | "resource_type">): CallMark | null => {
  const isEnd = resource_type === callEndType
  if (!isEnd && resource_type !== "call") return null
  const id = idIn(data, isEnd ? "call_id" : "id")
  return id === null || unstorable.test(id) ? null : { id, isEnd }
}

/** A key that a call and its end share. */
export const callKeyOf = ({ building_id }: Pick<NewEvent, "building_id">, { id }: CallMark): string =>
  `${building_id} ${id}`

/** Whether an end ends a call, or ended it before it was published. Both are of the same building. */
export const areOfOneCall = (
  one: Pick<Event, "created_at"> & { readonly call: CallMark },
  other: Pick<Event, "created_at"> & { readonly call: CallMark }
): boolean =>
  one.call.id === other.call.id &&
  one.call.isEnd !== other.call.isEnd &&
  Math.abs(one.created_at - other.created_at) < callLifetime
