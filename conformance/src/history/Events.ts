/**
 * Events: templates (plain data without ids), the factory that adds ids, and pairs of events with nearly equal ids.
 *
 * The documented events are those of the interface document, section 2.3.
 */
import { builtInTable, Crypto, eventIdPrefix, isoOf, makeEventId } from "@doorhook/core"
import { Clock, Context, Effect, Layer, Schema, Struct } from "effect"
import { randomUUID } from "node:crypto"
import { digestOf, exactDigestOf, object, string } from "./Json.ts"
import type { Member } from "./Json.ts"

/**
 * Placeholders for values that are made when the event is created. They differ from all values, because no JSON text
 * begins with `@`.
 */
export const placeholders = { id: "@id", longId: "@longId", guid: "@guid", now: "@now" } as const

const Members: Schema.Codec<ReadonlyArray<Member>> = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))

export const EventTemplate = Schema.Struct({
  resource_type: Schema.String,
  action: Schema.String,
  data: Members,
  /** Unknown members next to `data`. */
  beside_data: Members,
  /** Unknown members next to `event`. */
  beside_event: Members,
  /** What is unusual about the event; empty for a plain one. */
  note: Schema.String
})
export type EventTemplate = typeof EventTemplate.Type

/** Returns the binding that selects the event, like `access_log:create`: resource type and action. */
export const bindingOf = ({ action, resource_type }: Pick<EventTemplate, "action" | "resource_type">): string =>
  `${resource_type}:${action}`

/** Whether a binding can select the event (interface document, section 6.1). doorhook sends no other events. */
export const isKnownKind = ({ action, resource_type }: EventTemplate): boolean =>
  builtInTable.get(resource_type)?.actions.includes(action) ?? false

/** Returns the body of a delivery as doorhook writes it: without whitespace, and with `event` first. */
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

/** An unlocked door, with all documented members in the order of the interface document. */
export const accessLog: EventTemplate = template("access_log", [
  ["id", placeholders.id],
  ["logged_at", placeholders.now],
  ["access_point", "14207"],
  ["entry_method", string("swipe_to_open")],
  ["release_status", string("Unlocked")],
  ["name", string("Dana Whitfield")],
  ["image_url", string("https://images.example.com/snapshots/5f0c2a91.jpg")]
])

/** A video call. */
export const call: EventTemplate = template("call", [
  ["id", placeholders.id],
  ["guid", placeholders.guid],
  ["logged_at", placeholders.now],
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

/** Adds a note on what is unusual about the event. */
export const noted = (event: EventTemplate, note: string): EventTemplate => ({
  ...event,
  note: event.note === "" ? note : `${event.note}, ${note}`
})

/** Replaces the value of one member of the data with this raw JSON text. */
export const withMember = (event: EventTemplate, name: string, value: string): EventTemplate => ({
  ...event,
  data: event.data.map((member) => (member[0] === name ? [name, value] : member))
})

/** Removes one member of the data. */
export const withoutMember = (event: EventTemplate, name: string): EventTemplate => ({
  ...event,
  data: event.data.filter((member) => member[0] !== name)
})

/** Adds members at the end of the data. */
export const withUnknown = (event: EventTemplate, ...members: ReadonlyArray<Member>): EventTemplate => ({
  ...event,
  data: [...event.data, ...members]
})

/** The suite's templates, by the binding that selects them. */
export const templates: Readonly<Record<string, EventTemplate>> = {
  [bindingOf(accessLog)]: accessLog,
  [bindingOf(call)]: call
}

/** Returns the plain events that these bindings select, with three access logs for each call; all if they select none. */
export const plainEvents = (bindings: ReadonlyArray<string> | null): ReadonlyArray<EventTemplate> => {
  const usual = [accessLog, accessLog, call, accessLog]
  const bound = usual.filter((event) => bindings === null || bindings.includes(bindingOf(event)))
  return bound.length === 0 ? usual : bound
}

export interface CreatedEvent {
  readonly template: EventTemplate
  readonly webhook_id: string
  /** Raw JSON text of `data.id`; empty if the template has none. */
  readonly data_id: string
  /** The template with every value filled in. */
  readonly filled: EventTemplate
  readonly body: string
  /** `sha256:HEX` of the RFC 8785 form of the data. */
  readonly digest: string
  /** The same digest with all digits of numbers kept; null if doubles can store all the numbers. */
  readonly exactDigest: string | null
}

/** Values to use instead of generated values. */
export interface EventValues {
  readonly webhookId?: string
  readonly dataId?: string
  readonly guid?: string
  readonly now?: number
}

/** Range of the first `data.id`. It is below 2^31, because receivers store ids in 32-bit columns. */
const firstDataId = 100_000_000
const lastDataId = 2_000_000_000

/** Added to get a `data.id` of more than 32 bits. */
const beyond32Bits = 2 ** 33

/** Makes events from templates, with new ids that look like those in production. */
export class EventFactory extends Context.Service<
  EventFactory,
  {
    readonly create: (template: EventTemplate, given?: EventValues) => Effect.Effect<CreatedEvent>
    /** A fresh `webhook-id`. */
    readonly webhookId: Effect.Effect<string>
    /** A fresh `data.id`. */
    readonly dataId: Effect.Effect<number>
    readonly guid: Effect.Effect<string>
  }
>()("@doorhook/conformance/history/EventFactory") {
  /** Counts `data.id` up from a random number, like a database. */
  static readonly layer: Layer.Layer<EventFactory, never, Crypto> = Layer.effect(
    EventFactory,
    Effect.gen(function* () {
      const crypto = yield* Crypto
      const random = new DataView(crypto.randomBytes(4).slice().buffer).getUint32(0)
      let counter = firstDataId + (random % (lastDataId - firstDataId))
      const dataId = Effect.sync(() => ++counter)
      const guid = Effect.sync(() => randomUUID())
      const webhookId = Effect.map(Clock.currentTimeMillis, (now) => makeEventId(crypto, now))
      return EventFactory.of({
        webhookId,
        dataId,
        guid,
        create: Effect.fnUntraced(function* (template, given = {}) {
          const id = given.dataId ?? String(yield* dataId)
          const values: Readonly<Record<string, string>> = {
            [placeholders.id]: id,
            [placeholders.longId]: String(beyond32Bits + Number(id)),
            [placeholders.guid]: string(given.guid ?? (yield* guid)),
            [placeholders.now]: string(isoOf(given.now ?? (yield* Clock.currentTimeMillis)))
          }
          const filled: EventTemplate = {
            ...template,
            data: template.data.map(([name, value]) => [name, values[value] ?? value])
          }
          const data = object(filled.data)
          return {
            template,
            filled,
            webhook_id: given.webhookId ?? (yield* webhookId),
            data_id: filled.data.find(([name]) => name === "id")?.[1] ?? "",
            body: bodyOf(filled),
            digest: digestOf(data),
            exactDigest: exactDigestOf(data)
          }
        })
      })
    })
  )
}

interface Identity {
  readonly webhookId: string
  readonly dataId: string
  /** Set for the twin that has the other resource type. */
  readonly otherType?: true
}

/** The ids from which twins are made, and one more new webhook-id. */
interface Fresh extends Identity {
  readonly other: string
}

export interface TwinKindRow {
  readonly words: string
  readonly count: number
  /** Makes the ids of a pair; null if `createTwins` has to search for ids. */
  readonly make: ((fresh: Fresh) => readonly [Identity, Identity]) | null
}

/** Replaces one character of an id. A negative `place` counts from the end. */
export const changeAt = (text: string, place: number): string => {
  const at = place < 0 ? text.length + place : place
  return text.slice(0, at) + (text[at] === "1" ? "2" : "1") + text.slice(at + 1)
}

/** Index of the first character after the common prefix of ids. */
const start = eventIdPrefix.length

/** Changes the case of the first letter after the prefix. */
const changeCase = (text: string): string => {
  const at = text.slice(start).search(/[a-z]/) + start
  return at < start ? changeAt(text, start) : text.slice(0, at) + (text[at] ?? "").toUpperCase() + text.slice(at + 1)
}

const plus =
  (more: number) =>
  (dataId: string): string =>
    String(Number(dataId) + more)

/**
 * Returns two numbers above 2^53: a multiple of four, and the next odd number, which a double rounds down to the first.
 */
const beyondDouble = (dataId: string): readonly [even: string, odd: string] => {
  const even = BigInt(2 ** 53 + 4 * (Number(dataId) % 1_000_000_000))
  return [String(even), String(even + 1n)]
}

const pair = (words: string, make: TwinKindRow["make"]): TwinKindRow => ({ words, count: 2, make })

/** Defines a kind of twins whose webhook-ids differ in one character. */
const near = (words: string, at: number, twin: (dataId: string) => string): TwinKindRow =>
  pair(words, ({ dataId, webhookId }) => [
    { webhookId, dataId },
    { webhookId: changeAt(webhookId, at), dataId: twin(dataId) }
  ])

const billion = 1_000_000_000

/**
 * Events whose ids are nearly equal. A receiver may drop duplicates by `webhook-id` or by `resource_type` with
 * `data.id`, so both ids differ in the same way, unless a kind says otherwise.
 */
export const twins = {
  everything_else_equal: near("equal content and different ids", -4, plus(1)),
  last_character: near("ids that differ in the last character", -1, plus(1)),
  first_character: near("ids that differ in the first characters", start, (dataId) =>
    plus(Number(dataId) < billion ? billion : -billion)(dataId)
  ),
  middle_character: near("ids that differ in the middle", start + 12, plus(10_000_000)),
  letter_case: pair(
    "ids that differ in the case of a letter, and values of data.id beyond 2^53 that differ by one",
    ({ dataId, webhookId }) => {
      const [even, odd] = beyondDouble(dataId)
      return [
        { webhookId, dataId: even },
        { webhookId: changeCase(webhookId), dataId: odd }
      ]
    }
  ),
  beyond_double: pair("data.id 2^53 and 2^53 + 1", ({ dataId, webhookId }) => {
    const [even, odd] = beyondDouble(dataId)
    return [
      { webhookId, dataId: even },
      { webhookId: changeAt(webhookId, -2), dataId: odd }
    ]
  }),
  beyond_32_bits: near("values of data.id that differ by 2^32", -3, plus(2 ** 32)),
  prefix: pair("an id that is a prefix of the other", ({ dataId, webhookId }) => [
    { webhookId, dataId },
    { webhookId: `${webhookId}0`, dataId: `${dataId}0` }
  ]),
  // Ids without doorhook's prefix, so that they look like numbers.
  leading_zero: pair("webhook-ids that differ only in a leading zero", ({ dataId }) => [
    { webhookId: dataId, dataId },
    { webhookId: `0${dataId}`, dataId: plus(1)(dataId) }
  ]),
  punctuation: pair("webhook-ids that are equal without _ and -", ({ dataId, webhookId }) => [
    { webhookId: `${webhookId.slice(0, -8)}-${webhookId.slice(-8)}`, dataId },
    { webhookId: `${webhookId.slice(0, -8)}_${webhookId.slice(-8)}`, dataId: plus(1)(dataId) }
  ]),
  other_type: pair("the same data.id under two resource types", ({ dataId, other, webhookId }) => [
    { webhookId, dataId },
    { webhookId: other, dataId, otherType: true }
  ]),
  same_hash_32: {
    words: "webhook-ids with equal hashes (the first 32 bits of SHA-256 or MD5, FNV-1a, CRC-32 or String.hashCode)",
    count: 10,
    make: null
  },
  same_data_id: near("different webhook-ids and the same data.id", -1, plus(0)),
  same_webhook_id: pair("different values of data.id and the same webhook-id", ({ dataId, webhookId }) => [
    { webhookId, dataId },
    { webhookId, dataId: plus(1)(dataId) }
  ])
} satisfies Readonly<Record<string, TwinKindRow>>

export type TwinKind = keyof typeof twins
export const TwinKind = Schema.Literals(Struct.keys(twins))
