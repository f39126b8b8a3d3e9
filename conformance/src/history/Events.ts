/**
 * Events as templates: plain data, with everything but the values that are minted at execution. The documented ones
 * (interface document, section 2.3), and ways to make them unusual.
 */
import { builtInTable } from "@doorhook/core"
import { Schema } from "effect"
import { object, string } from "./Json.ts"
import type { Member } from "./Json.ts"

/** Members whose values are minted at execution: no JSON text begins with `@`. */
export const minted = { id: "@id", longId: "@longId", guid: "@guid", now: "@now" } as const

const Members: Schema.Codec<ReadonlyArray<Member>> = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))

export const EventTemplate = Schema.Struct({
  resource_type: Schema.String,
  action: Schema.String,
  data: Members,
  /** Unknown members beside `data`. */
  beside_data: Members,
  /** Unknown members beside `event`. */
  beside_event: Members,
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

/** The body of a delivery of the event, as doorhook writes it: no space, `event` first. */
export const bodyOf = (event: EventTemplate): string =>
  object([
    [
      "event",
      object([
        ["resource_type", string(event.resource_type)],
        ["action", string(event.action)],
        ["data", object(event.data)],
        ...event.beside_data
      ])
    ],
    ...event.beside_event
  ])

const template = (resource_type: string, data: ReadonlyArray<Member>): EventTemplate => ({
  resource_type,
  action: "create",
  data,
  beside_data: [],
  beside_event: [],
  note: ""
})

/** A door that was unlocked; all documented members, in the document's order. */
export const accessLog: EventTemplate = template("access_log", [
  ["id", minted.id],
  ["logged_at", minted.now],
  ["access_point", "14207"],
  ["entry_method", string("swipe_to_open")],
  ["release_status", string("Unlocked")],
  ["name", string("Dana Whitfield")],
  ["image_url", string("https://images.example.com/snapshots/5f0c2a91.jpg")]
])

/** A video call that was placed. */
export const call: EventTemplate = template("call", [
  ["id", minted.id],
  ["guid", minted.guid],
  ["logged_at", minted.now],
  ["status", string("initializing")],
  ["notification_type", string("visitor")],
  [
    "unit",
    object([
      ["id", "7"],
      ["label", string("4B")]
    ])
  ],
  [
    "panel",
    object([
      ["id", "311"],
      ["name", string("Main entrance")]
    ])
  ],
  ["image_url", string("https://images.example.com/calls/77d1e0b4.jpg")]
])

/** The event with a word on what is unusual about it. */
export const noted = (event: EventTemplate, note: string): EventTemplate => ({
  ...event,
  note: event.note === "" ? note : `${event.note}, ${note}`
})

/** The event with another raw value for one member of its data. */
export const withMember = (event: EventTemplate, name: string, value: string): EventTemplate => ({
  ...event,
  data: event.data.map((member) => (member[0] === name ? [name, value] : member))
})

/** The event without one member of its data. */
export const withoutMember = (event: EventTemplate, name: string): EventTemplate => ({
  ...event,
  data: event.data.filter((member) => member[0] !== name)
})

/** The event with more members at the end of its data. */
export const withUnknown = (event: EventTemplate, ...members: ReadonlyArray<Member>): EventTemplate => ({
  ...event,
  data: [...event.data, ...members]
})

/** The events that the suite has templates of, by the binding that selects them. */
export const templates: Readonly<Record<string, EventTemplate>> = {
  [bindingOf(accessLog)]: accessLog,
  [bindingOf(call)]: call
}

/** Plain events for a receiver with these bindings, as they come on any day: more doors than calls. */
export const plainEvents = (bindings: ReadonlyArray<string> | null): ReadonlyArray<EventTemplate> => {
  const usual = [accessLog, accessLog, call, accessLog]
  const bound = usual.filter((event) => bindings === null || bindings.includes(bindingOf(event)))
  return bound.length === 0 ? usual : bound
}
