/**
 * Event templates: the documented ones (interface document, section 2.3), and ways to make them unusual.
 */
import type { EventTemplate, Member } from "./Template.ts"
import { minted } from "./Template.ts"
import { object, string } from "./RawJson.ts"

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
