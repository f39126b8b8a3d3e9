/**
 * Receivers that refuse content, or store something else than what came.
 */
import type { Delivery } from "@doorhook/receiver"
import { pause } from "./Base.ts"
import type { Change } from "./Base.ts"
import { refuses, isCall } from "./Changes.ts"
import type { Rows } from "./Changes.ts"

/** Stores something else than what came. */
const stores =
  (change: (data: Readonly<Record<string, unknown>>) => unknown): Change =>
  (_, { once }) => ({
    keep: (key, delivery, request) => {
      const { event } = delivery
      return once(key, delivery, request, JSON.stringify({ event: { ...event, data: change(event.data) } }))
    }
  })

/** Stores other texts, at every depth. */
const storesTexts = (change: (text: string) => unknown): Change =>
  stores((data) =>
    JSON.parse(JSON.stringify(data), (_, value: unknown) => (typeof value === "string" ? change(value) : value))
  )

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const known: ReadonlySet<string> = new Set(
  "id logged_at access_point entry_method release_status name image_url guid status notification_type unit panel".split(
    " "
  )
)

const nameOf = ({ event: { data } }: Delivery): string => (typeof data["name"] === "string" ? data["name"] : "Door")

export const contentRows: Rows = {
  "R-FWD-01": {
    "strict-data": [
      "Refuses unknown members in data: its schema is closed.",
      refuses(422, ({ event }) => Object.keys(event.data).some((name) => !known.has(name)))
    ],
    "twenty-levels": [
      "Refuses bodies that are nested more than twenty levels deep.",
      refuses(422, ({ event }) => depthOf(event) > 20)
    ],
    "known-types-only": [
      "Refuses resource types that it does not know.",
      refuses(400, ({ event }) => !["access_log", "call"].includes(event.resource_type)),
      { found: "WARN" }
    ],
    "guards-prototypes": [
      "Refuses bodies with a member called __proto__, as its framework's parser does.",
      refuses(400, ({ body }) => body.includes('"__proto__"')),
      { found: "WARN" }
    ]
  },
  "R-FWD-02": {
    "null-image": ["Fails when image_url is null.", refuses(500, ({ event }) => event.data["image_url"] === null)],
    "closed-lists": [
      "Knows the notification types that there were when it was written.",
      refuses(
        422,
        (delivery) =>
          isCall(delivery) && !["visitor", "delivery"].includes(String(delivery.event.data["notification_type"]))
      )
    ],
    "integer-column": [
      "Has a column of 32 bits for data.id, and lets its error end in a 500.",
      refuses(500, ({ event }) => Number(event.data["id"]) >= 2 ** 31)
    ],
    "three-byte-utf8": [
      "Has a database that knows no characters beyond the basic plane.",
      refuses(500, (delivery) => /[\u{10000}-\u{10ffff}]/u.test(nameOf(delivery)))
    ],
    "no-nul": [
      "Has a database that takes no U+0000 in texts, and lets its error end in a 500.",
      refuses(500, (delivery) => nameOf(delivery).includes("\u0000")),
      { found: "WARN" }
    ],
    "cut-names": ["Cuts long names in silence.", storesTexts((text) => text.slice(0, 80)), { level: 2 }],
    normalised: [
      "Brings texts into Unicode's composed form before it stores them.",
      storesTexts((text) => text.normalize("NFC")),
      { level: 2 }
    ],
    "numbers-guessed": [
      "Guesses types: a text of digits is stored as a number.",
      storesTexts((text) => (/^\d+$/.test(text) ? Number(text) : text)),
      { level: 2 }
    ],
    "32-bit-points": [
      "Stores access points in 32 bits, without a word.",
      stores((data) =>
        typeof data["access_point"] === "number" ? { ...data, access_point: data["access_point"] | 0 } : data
      ),
      { level: 2 }
    ],
    "shared-field": [
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
      },
      { level: 2 }
    ],
    "times-rewritten": [
      "Stores times in a column for times, and so in another form than they came.",
      stores((data) => {
        const at = new Date(String(data["logged_at"]))
        return Number.isNaN(at.getTime()) ? data : { ...data, logged_at: at.toISOString() }
      }),
      { level: 2, found: "WARN" }
    ]
  }
}
