/**
 * Faults in reading and storing the body.
 */
import { builtInTable } from "@doorhook/core"
import { acknowledged, plain } from "../receivers/Parts.ts"
import type { Answer, WebhookEvent } from "@doorhook/receiver"
import type { Message } from "../receivers/Parts.ts"
import type { Change } from "../receivers/Server.ts"
import { fault } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const seen = fault(1)
const probed = fault(2)

/** Refuses events of a sort. */
const refuses =
  (isRefused: (message: Message) => boolean, refusal: Answer): Change =>
  () => ({ answer: (message) => (isRefused(message) ? refusal : acknowledged) })

/** Stores something else than what came. */
const stores =
  (change: (data: Record<string, unknown>, event: WebhookEvent) => Record<string, unknown>): Change =>
  () => ({ stored: ({ event }) => JSON.stringify({ event: { ...event, data: change({ ...event.data }, event) } }) })

const known: ReadonlySet<string> = new Set(
  "id logged_at access_point entry_method release_status name image_url guid status notification_type unit panel".split(
    " "
  )
)

const namesOf = ({ event: { data } }: Message): ReadonlyArray<string> => {
  const panel = data["panel"]
  const inPanel = typeof panel === "object" && panel !== null && "name" in panel ? panel.name : ""
  return [data["name"], inPanel].filter((value) => typeof value === "string")
}

const parsed = ({ body }: Message): Record<string, unknown> => JSON.parse(body)

/** Applies to every text in a value. */
const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, change)]))
}

const textsOf = (change: (text: string) => string): Change =>
  stores((data) => Object.fromEntries(Object.entries(data).map(([name, value]) => [name, mapTexts(value, change)])))

const invalid = plain(422, "invalid payload")
const crashed = plain(500, "TypeError: Cannot read properties of null")

export const payloadFaults: ReadonlyArray<Fault> = [
  seen(
    "strict-data",
    "R-FWD-01",
    "Refuses unknown members in data: its schema is closed.",
    refuses(({ event }) => Object.keys(event.data).some((name) => !known.has(name)), invalid)
  ),
  seen(
    "strict-event",
    "R-FWD-01",
    "Refuses unknown members beside data.",
    refuses((message) => Object.keys(Object(parsed(message)["event"])).length > 3, invalid)
  ),
  seen(
    "strict-envelope",
    "R-FWD-01",
    "Refuses unknown members beside event.",
    refuses((message) => Object.keys(parsed(message)).length > 1, invalid)
  ),
  seen(
    "known-types-only",
    "R-FWD-01",
    "Refuses resource types it does not know.",
    refuses(({ event }) => !builtInTable.has(event.resource_type), plain(400, "unknown type"))
  ),
  seen(
    "create-only",
    "R-FWD-01",
    "Fails on actions other than create.",
    refuses(({ event }) => event.action !== "create", plain(501, "not implemented"))
  ),
  seen(
    "null-image",
    "R-FWD-02",
    "Crashes when image_url is null.",
    refuses(({ event }) => event.data["image_url"] === null, crashed)
  ),
  seen(
    "absent-image",
    "R-FWD-02",
    "Crashes when image_url is absent.",
    refuses(({ event }) => !("image_url" in event.data), crashed)
  ),
  seen(
    "null-unit",
    "R-FWD-02",
    "Crashes when a call has no unit.",
    refuses(({ event }) => event.resource_type === "call" && !event.data["unit"], crashed)
  ),
  seen(
    "closed-lists",
    "R-FWD-02",
    "Knows the notification types there were when it was written.",
    refuses(
      ({ event }) =>
        event.resource_type === "call" && !["visitor", "delivery"].includes(String(event.data["notification_type"])),
      invalid
    )
  ),
  seen(
    "integer-column",
    "R-FWD-02",
    "Has a column of 32 bits for data.id, and lets its error end in a 500.",
    refuses(({ event }) => Number(event.data["id"]) >= 2 ** 31, plain(500, "integer out of range"))
  ),
  seen(
    "integer-column-of-units",
    "R-FWD-02",
    "Has a column of 32 bits for the unit of a call.",
    refuses(
      ({ event }) => Number(Reflect.get(Object(event.data["unit"]), "id")) >= 2 ** 31,
      plain(500, "integer out of range")
    )
  ),
  seen(
    "empty-name",
    "R-FWD-02",
    "Takes an empty name for a missing one.",
    refuses((message) => namesOf(message).includes("") && message.event.resource_type !== "call", invalid)
  ),
  seen(
    "short-names",
    "R-FWD-02",
    "Has a column of 100 characters for the name.",
    refuses((message) => namesOf(message).some((name) => Array.from(name).length > 100), plain(500, "value too long"))
  ),
  seen(
    "three-byte-utf8",
    "R-FWD-02",
    "Has a database that knows no characters beyond the basic plane.",
    refuses(
      (message) => namesOf(message).some((name) => /[\u{10000}-\u{10ffff}]/u.test(name)),
      plain(500, "Incorrect string value")
    )
  ),
  probed("latin-1", "R-FWD-02", "Reads the body as Latin-1, so that names are stored broken.", () => ({
    stored: ({ body }) => Buffer.from(body).toString("latin1")
  })),
  probed(
    "cut-names",
    "R-FWD-02",
    "Cuts long names without a word.",
    textsOf((text) => Array.from(text).slice(0, 80).join(""))
  ),
  probed(
    "trimmed",
    "R-FWD-02",
    "Normalises texts (NFC) and trims them before it stores them.",
    textsOf((text) => text.normalize("NFC").trim())
  ),
  probed(
    "squashed-spaces",
    "R-FWD-02",
    "Makes one space of several.",
    textsOf((text) => text.replaceAll(/ +/g, " "))
  ),
  probed(
    "no-line-separators",
    "R-FWD-02",
    "Drops U+2028 and U+2029, which its scripts can't hold.",
    textsOf((text) => text.replaceAll(/[\u2028\u2029]/g, ""))
  ),
  probed(
    "no-hidden-marks",
    "R-FWD-02",
    "Drops byte order marks and spaces without width.",
    textsOf((text) => text.replaceAll(/[\ufeff\u200b]/g, ""))
  ),
  probed(
    "plain-spaces",
    "R-FWD-02",
    "Makes a plain space of a no-break one.",
    textsOf((text) => text.replaceAll("\u00a0", " "))
  ),
  probed(
    "spoken-types",
    "R-FWD-02",
    "Guesses types: a text that reads like a truth value is stored as one.",
    stores((data) =>
      Object.fromEntries(Object.entries(data).map(([name, value]) => [name, value === "true" ? true : value]))
    )
  ),
  probed(
    "nulls-dropped",
    "R-FWD-02",
    "Stores nothing where the value is null.",
    stores((data) => Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null)))
  ),
  probed(
    "escaped-html",
    "R-FWD-02",
    "Escapes letters for HTML before it stores them.",
    textsOf((text) => text.replaceAll(/[^\x20-\x7e]/g, (letter) => `&#${letter.codePointAt(0)};`))
  ),
  probed(
    "question-marks",
    "R-FWD-02",
    "Has a column that turns what is not ASCII into question marks.",
    textsOf((text) => text.replaceAll(/[^\x00-\x7f]/g, "?"))
  ),
  probed(
    "torn-pairs",
    "R-FWD-02",
    "Stores texts unit by unit, and so tears astral characters apart.",
    textsOf((text) =>
      text
        .split("")
        .map((unit) => (/[\ud800-\udfff]/.test(unit) ? "\ufffd" : unit))
        .join("")
    )
  )
]
