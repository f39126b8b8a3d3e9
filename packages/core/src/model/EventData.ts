/**
 * `data` of the built-in resource types (interface document, section 2.3): what a receiver has to expect. The catalogue
 * and the types that `doorhook types` prints derive from these definitions. Hosts may add members.
 */
import { Schema } from "effect"

/** One of the words that are known today. Hosts have others. */
const openWord = (...words: ReadonlyArray<string>) =>
  Schema.Union([Schema.Literals(words), Schema.String]).annotate({ description: "Other values are possible." })

const id = Schema.Int.annotate({ description: "The host's id: a whole number of up to 64 bits." })

const time = Schema.String.annotate({
  format: "date-time",
  description: "ISO 8601 with Z or an offset, and 0 to 9 digits of a fraction."
})

const image_url = Schema.optionalKey(
  Schema.NullOr(Schema.String).annotate({ description: "URL of a picture; an empty text or null if there is none." })
)

/** `data` of an `access_log` event. */
export const AccessLogData = Schema.Struct({
  id,
  logged_at: time,
  access_point: Schema.Int.annotate({ description: "Id of the door." }),
  entry_method: openWord("swipe_to_open", "app", "pin", "qr_code"),
  release_status: openWord("Unlocked"),
  name: Schema.String.annotate({ description: "Name of the person." }),
  image_url
})
export type AccessLogData = typeof AccessLogData.Type

/** `data` of a `call` event: enough to ring and to look up the call, without personal data. */
export const CallData = Schema.Struct({
  id,
  guid: Schema.String.annotate({ description: "A second id of the call." }),
  logged_at: time,
  status: openWord("initializing"),
  notification_type: openWord("visitor", "delivery"),
  unit: Schema.optionalKey(Schema.NullOr(Schema.Struct({ id: Schema.Int, label: Schema.String }))).annotate({
    description: "Who is rung."
  }),
  panel: Schema.Struct({ id: Schema.Int, name: Schema.String }).annotate({ description: "Where somebody rings." }),
  image_url
})
export type CallData = typeof CallData.Type

/** Why the ringing of a call ends. */
export const callEndReasons = ["answered", "answered_elsewhere", "rejected", "missed", "cancelled"] as const

/** `data` of a `call_end` event. */
export const CallEndData = Schema.Struct({
  id,
  call_id: Schema.Int.annotate({ description: "The `id` of the call." }),
  reason: Schema.Literals(callEndReasons).annotate({
    description: "Why the ringing ends."
  }),
  ended_at: time
})
export type CallEndData = typeof CallEndData.Type
