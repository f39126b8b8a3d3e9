/**
 * Receivers that lose events, make them up, depend on their order, or act on other methods.
 */
import { Refusal } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { scopeOf } from "./Base.ts"
import type { Box } from "./Base.ts"
import { besideOthers, drops, idOf, isEvent, keyOf, unavailable } from "./Changes.ts"
import type { Rows } from "./Changes.ts"

/** Texts, in which braces don't count, and braces. */
const textOrBrace = /"(?:[^"\\]|\\.)*"|[{}]/gs

/** The first event at the beginning of a body, or the body: up to the brace that closes the first. */
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

/** An effect of what is no event. */
const actOnNothing = ({ ledger }: Box, request: ReceivedRequest): void =>
  ledger.act({ id: idOf(request), scope: scopeOf(request), stored: "{}" })

export const lossRows: Rows = {
  "R-LOS-01": {
    "busy-swallowed": [
      "Logs «the database is locked», which comes when two requests write at once, and answers 200.",
      besideOthers(1, () => false)
    ],
    "mark-stays": [
      "Marks the id, then works: when that fails because too much comes at once, the retry is a duplicate of nothing.",
      besideOthers(3, ({ mark }, key) => {
        mark(key)
        throw unavailable()
      })
    ],
    "queue-overflows": [
      "Answers 200 and puts events into a queue with room for 40, which is emptied at 30 a second; what finds no room is dropped.",
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
      "Marks the id when the headers are there, before the body is.",
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
    "first-attempts-only": ["Takes every attempt after the first for a duplicate.", drops(({ attempt }) => attempt > 1)]
  },
  "R-LOS-03": {
    "acts-on-headers": [
      "Acts once the headers are there, and reads the body to see whether it was right to.",
      (correct, box) => ({
        readBody: (request) => {
          if (box.mark(`acted ${keyOf(request)}`)) actOnNothing(box, request)
          return correct.readBody(request)
        },
        keep: async (key) => box.mark(key)
      })
    ],
    "text-behind-it": [
      "Reads the first value of a body and leaves what stands behind it.",
      (correct) => ({ parse: (request, body) => correct.parse(request, firstValue(body)) }),
      { found: "WARN" }
    ]
  },
  "R-ORD-01": {
    "newest-only": [
      "Drops events that are older than the newest it has.",
      (...given) => {
        let newest = ""
        return drops(({ event }) => {
          const at = String(event.data["logged_at"])
          if (at > newest) newest = at
          return at < newest
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
      "Acts on GET as on POST: the router takes any method.",
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
