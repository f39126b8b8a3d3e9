/**
 * Receivers that lose or invent events, depend on their order, act on other methods, refuse content, or store content
 * other than what was sent.
 */
import { Refusal } from "@doorhook/receiver"
import type { Delivery, ReceivedRequest } from "@doorhook/receiver"
import { besideOthers, drops, idOf, isCall, isEvent, keyOf, pause, refuses, scopeOf, unavailable } from "./Base.ts"
import type { ReceiverState, Change, WrongReceivers } from "./Base.ts"

/** Matches braces, and whole strings so that the braces in them are not counted. */
const textOrBrace = /"(?:[^"\\]|\\.)*"|[{}]/gs

/** Returns the body up to the end of the first event, or the whole body if it does not start with an event. */
export const firstValue = (body: Uint8Array): Uint8Array => {
  const text = Buffer.from(body).toString()
  let open = 0
  for (const { 0: found, index } of text.matchAll(textOrBrace)) {
    if (found === "{") open++
    if (found === "}" && --open === 0) {
      const part = Buffer.from(text.slice(0, index + 1))
      return isEvent(part) ? part : body
    }
  }
  return body
}

/** Records an effect without an event. */
const actOnNothing = ({ ledger }: ReceiverState, request: ReceivedRequest): void =>
  ledger.act({ id: idOf(request), scope: scopeOf(request), stored: "{}" })

export const lossRows: WrongReceivers = {
  "R-LOS-01": {
    "busy-swallowed": [
      "When two requests write at the same time, logs «the database is locked» and answers 200.",
      besideOthers(1, () => false)
    ],
    "one-in-twenty-lost": [
      "Loses every twentieth event.",
      (...given) => {
        let events = 0
        return drops(() => ++events % 20 === 0)(...given)
      }
    ],
    "long-bodies-lost": ["Loses events with long bodies.", drops(({ body }) => body.length > 1_500)],
    "limited-and-marked": [
      "Marks the id before its limit of 10 events a second refuses the event, and drops the retry as a duplicate.",
      (correct, box) => {
        const times: Array<number> = []
        return {
          keep: async (key, ...given) => {
            const now = performance.now()
            while ((times[0] ?? now) < now - 1_000) times.shift()
            if (times.push(now) <= 10 || !box.mark(key)) return correct.keep(key, ...given)
            throw new Refusal(429, "slow down", { headers: { "retry-after": "1" } })
          }
        }
      }
    ],
    "offsets-dropped": [
      "Answers 200, and drops events whose time has an offset other than UTC.",
      drops(({ event }) => !/(?:Z|\+00:00)$/.test(String(event.data["logged_at"])))
    ],
    "leap-days-dropped": [
      "Answers 200, and drops events on a leap day.",
      drops(({ event }) => String(event.data["logged_at"]).includes("-02-29T"))
    ],
    "nanoseconds-dropped": [
      "Answers 200, and drops events whose time has more than six digits of a fraction.",
      drops(({ event }) => /\.\d{7}/.test(String(event.data["logged_at"])))
    ],
    "mark-stays": [
      "Marks the id before it acts. If the work fails under load, it drops the retry as a duplicate.",
      besideOthers(3, ({ mark }, key) => {
        mark(key)
        throw unavailable()
      })
    ],
    "queue-overflows": [
      "Answers 200, handles 30 events a second, and drops events while its queue of 40 is full.",
      (_, { act, ledger, mark }) => {
        const queue: Array<() => void> = []
        const timer = setInterval(() => {
          if (ledger.database.isOpen) queue.shift()?.()
          else clearInterval(timer)
        }, 33).unref()
        return {
          keep: async (key, ...given) => {
            const isNew = mark(key)
            if (isNew && queue.length < 40) queue.push(() => act(...given))
            return isNew
          }
        }
      },
      { profile: "load" }
    ]
  },
  "R-LOS-02": {
    "marked-before-read": [
      "Marks the id when it has read the headers but not the body.",
      (correct, { mark }) => {
        const first = new WeakSet<object>()
        return {
          readBody: (request) => {
            if (mark(`early ${keyOf(request)}`)) first.add(request)
            return correct.readBody(request)
          },
          keep: async (key, delivery, request) => first.has(request) && correct.keep(key, delivery, request)
        }
      }
    ],
    "first-attempts-only": ["Treats every attempt after the first as a duplicate.", drops(({ attempt }) => attempt > 1)]
  },
  "R-LOS-03": {
    "acts-on-headers": [
      "Acts when it has read the headers, and checks the body later.",
      (correct, box) => ({
        readBody: (request) => {
          if (box.mark(`acted ${keyOf(request)}`)) actOnNothing(box, request)
          return correct.readBody(request)
        },
        keep: async (key) => box.mark(key)
      })
    ],
    "text-behind-it": [
      "Reads the first value in a body and ignores the rest.",
      (correct) => ({ parse: (request, body) => correct.parse(request, firstValue(body)) }),
      { found: "WARN" }
    ]
  },
  "R-ORD-01": {
    "newest-only": [
      "Drops events that are older than the newest so far.",
      (...given) => {
        let newest = ""
        return drops(({ event }) => {
          const at = String(event.data["logged_at"])
          if (at > newest) newest = at
          return at < newest
        })(...given)
      }
    ],
    "rising-ids": [
      "Drops events whose data.id is below that of an earlier event.",
      (...given) => {
        let last = 0
        return drops(({ event }) => {
          const id = Number(event.data["id"])
          const isOld = id < last
          last = Math.max(last, id)
          return isOld
        })(...given)
      }
    ],
    "too-old": [
      "Drops events whose logged_at is more than a year ago.",
      drops(({ event, receivedAt }) => Date.parse(String(event.data["logged_at"])) < receivedAt - 365 * 86_400_000)
    ]
  },
  "R-GET-01": {
    "acts-on-any-method": [
      "Acts on GET as on POST, because its router accepts any method.",
      (correct, box) => ({
        admit: (request) => {
          if (request.method !== "POST") actOnNothing(box, request)
          correct.admit(request)
        }
      }),
      { level: 2 }
    ],
    "get-crashes": [
      "Fails on a GET, and answers 500 from then on.",
      (correct) => {
        let isBroken = false
        return {
          admit: (request) => {
            isBroken ||= request.method !== "POST"
            if (isBroken) throw new Refusal(500, "bad state")
            correct.admit(request)
          }
        }
      }
    ]
  }
}

/** Stores changed data. */
const stores =
  (change: (data: Readonly<Record<string, unknown>>) => unknown): Change =>
  (_, { once }) => ({
    keep: (key, delivery, request) => {
      const { event } = delivery
      return once(key, delivery, request, JSON.stringify({ event: { ...event, data: change(event.data) } }))
    }
  })

/** Stores changed texts, at every depth. */
const storesTexts = (change: (text: string) => unknown): Change =>
  stores((data) =>
    JSON.parse(JSON.stringify(data), (_, value: unknown) => (typeof value === "string" ? change(value) : value))
  )

/** Reads a body with its unknown members. */
const bodyIn = (body: string): { readonly event: object } => JSON.parse(body)

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const known: ReadonlySet<string> = new Set(
  "id logged_at access_point entry_method release_status name image_url guid status notification_type unit panel".split(
    " "
  )
)

const nameOf = ({ event: { data } }: Delivery): string => (typeof data["name"] === "string" ? data["name"] : "Door")

export const contentRows: WrongReceivers = {
  "R-FWD-01": {
    "strict-data": [
      "Refuses unknown members in data, because its schema is closed.",
      refuses(422, ({ event }) => Object.keys(event.data).some((name) => !known.has(name)))
    ],
    "strict-event": [
      "Refuses unknown members beside data.",
      refuses(400, ({ body }) => Object.keys(bodyIn(body).event).length > 3)
    ],
    "strict-envelope": [
      "Refuses unknown members beside event.",
      refuses(400, ({ body }) => Object.keys(bodyIn(body)).length > 1)
    ],
    "strict-unit": [
      "Refuses unknown members of a unit.",
      refuses(400, ({ event: { data } }) =>
        Object.keys(data["unit"] ?? {}).some((name) => !/^(?:id|label)$/.test(name))
      )
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
    "no-unit": [
      "Fails when unit is absent.",
      refuses(500, (delivery) => isCall(delivery) && !("unit" in delivery.event.data))
    ],
    "empty-names": ["Refuses an empty name.", refuses(400, ({ event }) => event.data["name"] === "")],
    "names-to-200": [
      "Answers 500 to names of more than 200 characters.",
      refuses(500, (delivery) => nameOf(delivery).length > 200)
    ],
    "closed-lists": [
      "Refuses notification types that did not exist when it was written.",
      refuses(
        422,
        (delivery) =>
          isCall(delivery) && !["visitor", "delivery"].includes(String(delivery.event.data["notification_type"]))
      )
    ],
    "integer-column": [
      "Has a 32-bit column for data.id, and answers 500 to longer ids.",
      refuses(500, ({ event }) => Number(event.data["id"]) >= 2 ** 31)
    ],
    "three-byte-utf8": [
      "Answers 500 to characters beyond the basic plane, which its database does not support.",
      refuses(500, (delivery) => /[\u{10000}-\u{10ffff}]/u.test(nameOf(delivery)))
    ],
    "no-nul": [
      "Answers 500 to U+0000 in texts, which its database refuses.",
      refuses(500, (delivery) => nameOf(delivery).includes("\u0000")),
      { found: "WARN" }
    ],
    "cut-names": ["Truncates long names silently.", storesTexts((text) => text.slice(0, 80)), { level: 2 }],
    normalised: [
      "Normalises texts to Unicode NFC before it stores them.",
      storesTexts((text) => text.normalize("NFC")),
      { level: 2 }
    ],
    "numbers-guessed": [
      "Stores a text of digits as a number.",
      storesTexts((text) => (/^\d+$/.test(text) ? Number(text) : text)),
      { level: 2 }
    ],
    "32-bit-points": [
      "Truncates access points to 32 bits silently.",
      stores((data) =>
        typeof data["access_point"] === "number" ? { ...data, access_point: data["access_point"] | 0 } : data
      ),
      { level: 2 }
    ],
    "shared-field": [
      "Has one shared field for the current event: when two arrive together, one is stored with the data of the other.",
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
      "Stores times in a time column, which changes how they are written.",
      stores((data) => {
        const at = new Date(String(data["logged_at"]))
        return Number.isNaN(at.getTime()) ? data : { ...data, logged_at: at.toISOString() }
      }),
      { level: 2, found: "WARN" }
    ]
  }
}
