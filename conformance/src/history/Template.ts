/**
 * The template of an event: its body as plain data, with everything but the values that are minted at execution.
 */
import { builtInTable } from "@doorhook/core"
import { Schema } from "effect"

/**
 * One member of a JSON object: its name and its value as raw JSON text, which never passes through a JavaScript number.
 * A value that begins with `@` stands for something minted at execution; no JSON text begins so.
 */
export const Member = Schema.Tuple([Schema.String, Schema.String])
export type Member = typeof Member.Type

/** The values that are minted at execution. */
export const minted = { id: "@id", longId: "@longId", guid: "@guid", now: "@now" } as const

export const EventTemplate = Schema.Struct({
  resource_type: Schema.String,
  action: Schema.String,
  data: Schema.Array(Member),
  /** Unknown members beside `data`. */
  beside_data: Schema.Array(Member),
  /** Unknown members beside `event`. */
  beside_event: Schema.Array(Member),
  /** What is unusual about it, in words; empty when nothing is. */
  note: Schema.String
})
export type EventTemplate = typeof EventTemplate.Type

/** A pair of resource type and action that an integration can be bound to: `access_log:create`. */
export const bindingOf = ({ action, resource_type }: Pick<EventTemplate, "action" | "resource_type">): string =>
  `${resource_type}:${action}`

/** Whether a binding can select the event (interface document, section 6.1). What none selects never arrives from doorhook. */
export const isKnownKind = ({ action, resource_type }: EventTemplate): boolean =>
  builtInTable.get(resource_type)?.actions.includes(action) ?? false
