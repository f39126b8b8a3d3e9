/**
 * Receivers that lose events, make them up, or depend on their order.
 */
import { parseEvent, Refusal } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { acknowledged, pause, plain, scopeOf } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const idOf = ({ headers }: ReceivedRequest): string => headers["webhook-id"] ?? ""

/** An effect of what is no event. */
const made = (request: ReceivedRequest) => ({ id: idOf(request), scope: scopeOf(request), stored: "{}" })

/** Whether a body is an event. */
export const isEvent = (body: Uint8Array): boolean => !("wrong" in parseEvent(body))

/** The first event at the beginning of a body, or the body. */
export const firstValue = (body: Uint8Array): Uint8Array => {
  const text = Buffer.from(body).toString()
  for (let end = text.indexOf("}"); end !== -1; end = text.indexOf("}", end + 1)) {
    const part = Buffer.from(text.slice(0, end + 1))
    if (isEvent(part)) return part
  }
  return body
}

export const lossFaults: ReadonlyArray<Fault> = [
  ...faults(2)(
    [
      "swallows-errors",
      "R-LOS-01",
      "Catches what goes wrong with a call, and answers 200.",
      (correct) => ({
        keep: async (key, delivery, request) =>
          delivery.event.resource_type === "call" ? false : correct.keep(key, delivery, request)
      })
    ],
    [
      "every-seventh",
      "R-LOS-01",
      "Drops every seventh event in a queue that is not durable.",
      (correct) => {
        let count = 0
        return { keep: async (...given) => (++count % 7 === 0 ? false : correct.keep(...given)) }
      }
    ],
    [
      "busy-swallowed",
      "R-LOS-01",
      "Logs «the database is locked», which comes when two requests write at once, and answers 200.",
      (correct) => {
        let busy = false
        return {
          keep: async (...given) => {
            if (busy) return false
            busy = true
            await pause(10)
            busy = false
            return correct.keep(...given)
          }
        }
      }
    ],
    [
      "marked-before-read",
      "R-LOS-02",
      "Marks the id when the headers are there, before the body is.",
      (correct, { ledger, now }) => {
        const first = new WeakSet<object>()
        return {
          readBody: (request) => {
            if (ledger.mark(`early ${idOf(request)}`, now())) first.add(request)
            return correct.readBody(request)
          },
          keep: async (key, delivery, request) => first.has(request) && correct.keep(key, delivery, request)
        }
      }
    ],
    [
      "broken-off-marked",
      "R-LOS-02",
      "Marks the id of a body that broke off, and drops the whole one later.",
      (correct, { ledger, now }) => ({
        readBody: (request) =>
          correct.readBody(request).catch((error: unknown) => {
            ledger.mark(`${scopeOf(request)} ${idOf(request)}`, now())
            throw error
          })
      })
    ],
    [
      "first-attempts-only",
      "R-LOS-02",
      "Takes every attempt after the first for a duplicate.",
      (correct) => ({
        keep: async (key, delivery, request) => delivery.attempt === 1 && correct.keep(key, delivery, request)
      })
    ],
    [
      "refused-for-good",
      "R-LOS-02",
      "Notes the id of a body it could not read, and refuses the event from then on.",
      (correct) => {
        const refused = new Set<string>()
        return {
          parse: (request, body) => {
            if (!isEvent(body)) refused.add(idOf(request))
            if (refused.has(idOf(request))) throw new Refusal(400, "malformed")
            return correct.parse(request, body)
          },
          readBody: (request) =>
            correct.readBody(request).catch((error: unknown) => {
              refused.add(idOf(request))
              throw error
            })
        }
      }
    ],
    [
      "half-understood",
      "R-LOS-03",
      "Finds what it needs with a regular expression, and so acts on a broken body.",
      (correct, { ledger }) => ({
        parse: (request, body) => {
          if (!isEvent(body)) ledger.act(made(request))
          return correct.parse(request, body)
        }
      })
    ],
    [
      "acts-on-headers",
      "R-LOS-03",
      "Acts once the headers are there, and reads the body to see whether it was right to.",
      (correct, { ledger, now }) => ({
        readBody: (request) => {
          if (ledger.mark(`acted ${scopeOf(request)} ${idOf(request)}`, now())) ledger.act(made(request))
          return correct.readBody(request)
        },
        keep: async (key) => ledger.mark(key, now())
      })
    ],
    [
      "newest-only",
      "R-ORD-01",
      "Drops events that are older than the newest it has.",
      (correct) => {
        let newest = ""
        return {
          keep: async (key, delivery, request) => {
            const at = String(delivery.event.data["logged_at"])
            if (at < newest) return false
            newest = at
            return correct.keep(key, delivery, request)
          }
        }
      }
    ],
    [
      "too-old",
      "R-ORD-01",
      "Drops events whose logged_at is more than a year ago.",
      (correct, { now }) => ({
        keep: async (key, delivery, request) =>
          Date.parse(String(delivery.event.data["logged_at"])) < now() - 365 * 86_400_000
            ? false
            : correct.keep(key, delivery, request)
      })
    ],
    [
      "acts-on-any-method",
      "R-GET-01",
      "Acts on GET as on POST: the router takes any method.",
      (correct, { ledger }) => ({
        admit: (request) => {
          if (request.method === "POST") return
          ledger.act(made(request))
          if (request.method === "OPTIONS") correct.admit(request)
          throw new Refusal(200, "")
        }
      })
    ]
  ),
  ...faults(2, { found: "WARN" })([
    "text-behind-it",
    "R-LOS-03",
    "Reads the first value of a body and leaves what stands behind it.",
    (correct) => ({ parse: (request, body) => correct.parse(request, firstValue(body)) })
  ]),
  ...faults(1)([
    "get-crashes",
    "R-GET-01",
    "Fails on a GET, and answers 500 from then on.",
    (correct) => {
      let isBroken = false
      return {
        admit: (request) => {
          if (request.method !== "POST") isBroken = true
          if (isBroken) throw new Refusal(500, "bad state")
          correct.admit(request)
        },
        acknowledge: () => (isBroken ? plain(500, "bad state") : acknowledged)
      }
    }
  ])
]
