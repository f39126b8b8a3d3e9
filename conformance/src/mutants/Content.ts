/**
 * Receivers that refuse content, or store something else than what came.
 */
import type { Delivery } from "@doorhook/receiver"
import { acknowledged, pause, plain } from "./Base.ts"
import type { Change } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

/** Refuses some events. */
const refuses =
  (status: number, why: string, isRefused: (delivery: Delivery) => boolean): Change =>
  () => ({ acknowledge: (_, delivery) => (isRefused(delivery) ? plain(status, why) : acknowledged) })

const invalid = (isRefused: (delivery: Delivery) => boolean): Change => refuses(422, "invalid payload", isRefused)

const crashes = (isRefused: (delivery: Delivery) => boolean): Change =>
  refuses(500, "TypeError: Cannot read properties of null", isRefused)

/** Stores something else than what came. */
const stores =
  (change: (data: Readonly<Record<string, unknown>>) => unknown): Change =>
  (_, { once }) => ({
    keep: (key, delivery, request) => {
      const { event } = delivery
      return once(key, delivery, request, JSON.stringify({ event: { ...event, data: change(event.data) } }))
    }
  })

/** Applies to every value that is no object or list. */
const mapped = (value: unknown, change: (leaf: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((one) => mapped(one, change))
  if (typeof value !== "object" || value === null) return change(value)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapped(one, change)]))
}

/** Stores other texts. */
const storesTexts = (change: (text: string) => unknown): Change =>
  stores((data) => mapped(data, (leaf) => (typeof leaf === "string" ? change(leaf) : leaf)))

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const known: ReadonlySet<string> = new Set(
  "id logged_at access_point entry_method release_status name image_url guid status notification_type unit panel".split(
    " "
  )
)

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

const rootOf = ({ body }: Delivery): Readonly<Record<string, unknown>> => membersOf(JSON.parse(body))

const unitOf = ({ event }: Delivery): Readonly<Record<string, unknown>> => membersOf(event.data["unit"])

const isCall = ({ event }: Delivery): boolean => event.resource_type === "call"

const namesOf = ({ event: { data } }: Delivery): ReadonlyArray<string> =>
  [data["name"], membersOf(data["panel"])["name"]].filter((value) => typeof value === "string")

const lengthOf = (text: string): number => Array.from(text).length

export const contentFaults: ReadonlyArray<Fault> = [
  ...faults(1)(
    [
      "strict-data",
      "R-FWD-01",
      "Refuses unknown members in data: its schema is closed.",
      invalid(({ event }) => Object.keys(event.data).some((name) => !known.has(name)))
    ],
    [
      "strict-unit",
      "R-FWD-01",
      "Refuses unknown members in the unit of a call.",
      invalid((delivery) => Object.keys(unitOf(delivery)).some((name) => !["id", "label"].includes(name)))
    ],
    [
      "strict-event",
      "R-FWD-01",
      "Refuses unknown members beside data.",
      invalid((delivery) => Object.keys(membersOf(rootOf(delivery)["event"])).length > 3)
    ],
    [
      "strict-envelope",
      "R-FWD-01",
      "Refuses unknown members beside event.",
      invalid((delivery) => Object.keys(rootOf(delivery)).length > 1)
    ],
    [
      "twenty-levels",
      "R-FWD-01",
      "Refuses bodies that are nested more than twenty levels deep.",
      invalid((delivery) => depthOf(rootOf(delivery)) > 20)
    ],
    [
      "null-image",
      "R-FWD-02",
      "Fails when image_url is null.",
      crashes(({ event }) => event.data["image_url"] === null)
    ],
    [
      "absent-image",
      "R-FWD-02",
      "Fails when image_url is absent.",
      crashes(({ event }) => !("image_url" in event.data))
    ],
    [
      "null-unit",
      "R-FWD-02",
      "Fails when a call has no unit.",
      crashes((delivery) => isCall(delivery) && !delivery.event.data["unit"])
    ],
    [
      "closed-lists",
      "R-FWD-02",
      "Knows the notification types that there were when it was written.",
      invalid(
        (delivery) =>
          isCall(delivery) && !["visitor", "delivery"].includes(String(delivery.event.data["notification_type"]))
      )
    ],
    [
      "integer-column",
      "R-FWD-02",
      "Has a column of 32 bits for data.id, and lets its error end in a 500.",
      refuses(500, "integer out of range", ({ event }) => Number(event.data["id"]) >= 2 ** 31)
    ],
    [
      "integer-column-of-units",
      "R-FWD-02",
      "Has a column of 32 bits for the unit of a call.",
      refuses(500, "integer out of range", (delivery) => Number(unitOf(delivery)["id"]) >= 2 ** 31)
    ],
    [
      "empty-name",
      "R-FWD-02",
      "Takes an empty name for a missing one.",
      invalid((delivery) => !isCall(delivery) && namesOf(delivery).includes(""))
    ],
    [
      "short-names",
      "R-FWD-02",
      "Has a column of 100 characters for the name.",
      refuses(500, "value too long", (delivery) => namesOf(delivery).some((name) => lengthOf(name) > 100))
    ],
    [
      "three-byte-utf8",
      "R-FWD-02",
      "Has a database that knows no characters beyond the basic plane.",
      refuses(500, "Incorrect string value", (delivery) =>
        namesOf(delivery).some((name) => /[\u{10000}-\u{10ffff}]/u.test(name))
      )
    ]
  ),
  ...faults(1, { found: "WARN" })(
    [
      "known-types-only",
      "R-FWD-01",
      "Refuses resource types that it does not know.",
      refuses(400, "unknown type", ({ event }) => !["access_log", "call"].includes(event.resource_type))
    ],
    [
      "create-only",
      "R-FWD-01",
      "Fails on actions other than create.",
      refuses(501, "not implemented", ({ event }) => event.action !== "create")
    ],
    [
      "no-nul",
      "R-FWD-02",
      "Has a database that takes no U+0000 in texts, and lets its error end in a 500.",
      refuses(500, "invalid byte sequence", (delivery) => namesOf(delivery).some((name) => name.includes("\u0000")))
    ],
    [
      "names-of-500",
      "R-FWD-02",
      "Has a column of 500 characters for the name.",
      refuses(500, "value too long", (delivery) => namesOf(delivery).some((name) => lengthOf(name) > 500))
    ]
  ),
  ...faults(2)(
    [
      "latin-1",
      "R-FWD-02",
      "Reads the body as Latin-1, so that names are stored broken.",
      (_, { once }) => ({
        keep: (key, delivery, request) => once(key, delivery, request, Buffer.from(delivery.body).toString("latin1"))
      })
    ],
    [
      "cut-names",
      "R-FWD-02",
      "Cuts long names in silence.",
      storesTexts((text) => Array.from(text).slice(0, 80).join(""))
    ],
    [
      "trimmed",
      "R-FWD-02",
      "Takes spaces at both ends away before it stores texts.",
      storesTexts((text) => text.trim())
    ],
    [
      "normalised",
      "R-FWD-02",
      "Brings texts into Unicode's composed form before it stores them.",
      storesTexts((text) => text.normalize("NFC"))
    ],
    [
      "no-line-separators",
      "R-FWD-02",
      "Drops U+2028 and U+2029, which its scripts can't hold.",
      storesTexts((text) => text.replaceAll(/[\u2028\u2029]/g, ""))
    ],
    [
      "one-line-end",
      "R-FWD-02",
      "Makes one kind of line end of all.",
      storesTexts((text) => text.replaceAll("\r\n", "\n"))
    ],
    ["sanitised", "R-FWD-02", "Takes markup away from names.", storesTexts((text) => text.replaceAll(/<[^>]*>/g, ""))],
    [
      "numbers-guessed",
      "R-FWD-02",
      "Guesses types: a text of digits is stored as a number.",
      storesTexts((text) => (/^\d+$/.test(text) ? Number(text) : text))
    ],
    [
      "empty-is-null",
      "R-FWD-02",
      "Stores an empty text as null, as some databases do.",
      storesTexts((text) => (text === "" ? null : text))
    ],
    [
      "nulls-dropped",
      "R-FWD-02",
      "Stores nothing where the value is null.",
      stores((data) => Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null)))
    ],
    [
      "32-bit-points",
      "R-FWD-02",
      "Stores access points in 32 bits, without a word.",
      stores((data) =>
        typeof data["access_point"] === "number" ? { ...data, access_point: data["access_point"] | 0 } : data
      )
    ],
    [
      "shared-field",
      "R-FWD-02",
      "Keeps the event it works on in a field of its only handler: of two at once, one is stored with the data of the other.",
      (_, { once }) => {
        let body = ""
        return {
          keep: async (key, delivery, request) => {
            body = delivery.body
            await pause(5)
            return once(key, delivery, request, body)
          }
        }
      }
    ]
  ),
  ...faults(2, { found: "WARN" })([
    "times-rewritten",
    "R-FWD-02",
    "Stores times in a column for times, and so in another form than they came.",
    stores((data) => {
      const at = new Date(String(data["logged_at"]))
      return Number.isNaN(at.getTime()) ? data : { ...data, logged_at: at.toISOString() }
    })
  ])
]
