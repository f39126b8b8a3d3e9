/**
 * Receivers that do not speak all of HTTP.
 */
import { Refusal, sendAnswer } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { once } from "node:events"
import { acknowledged, incoming, pause, plain, socketOf } from "./Base.ts"
import type { Change } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

/** Refuses some requests before their body is read. */
const turnsAway =
  (status: number, why: string, isRefused: (request: ReceivedRequest) => boolean): Change =>
  (correct) => ({
    admit: (request) => {
      correct.admit(request)
      if (isRefused(request)) throw new Refusal(status, why)
    }
  })

/** Refuses bodies above a length, in KiB. */
const upTo =
  (kib: number): Change =>
  (correct) => ({
    readBody: async (request) => {
      const body = await correct.readBody(request)
      if (body.length > kib * 1_024) throw new Refusal(413, "too long")
      return body
    }
  })

/** Whether a header came with its name spelled like this. */
const hasSpelling = ({ source }: ReceivedRequest, ...names: ReadonlyArray<string>): boolean =>
  incoming(source).rawHeaders.some((name, index) => index % 2 === 0 && names.includes(name))

const contentTypeOf = ({ headers }: ReceivedRequest): string => headers["content-type"] ?? ""

const firstPiece: Change = () => ({
  readBody: async ({ source }) => {
    const request = incoming(source)
    const [piece]: Array<unknown> = await once(request, "data")
    request.resume()
    return Buffer.isBuffer(piece) ? piece : Buffer.from("")
  }
})

export const httpFaults: ReadonlyArray<Fault> = [
  ...faults(1)(
    [
      "length-wanted",
      "R-HTTP-01",
      "Answers 411 to a chunked request.",
      turnsAway(411, "length required", ({ headers }) => headers["content-length"] === undefined)
    ],
    [
      "no-length-no-body",
      "R-HTTP-01",
      "Takes a request without content-length for one without a body.",
      (correct) => ({
        readBody: async (request) => {
          const body = await correct.readBody(request)
          return request.headers["content-length"] === undefined ? Buffer.from("") : body
        }
      })
    ],
    [
      "impatient",
      "R-HTTP-02",
      "Answers 408 when a body takes more than a moment.",
      (correct) => ({
        readBody: (request) =>
          Promise.race([
            correct.readBody(request),
            pause(100).then(() => {
              throw new Refusal(408, "too slow")
            })
          ])
      })
    ],
    ["first-packet", "R-HTTP-02", "Reads once from the socket and parses what is there.", firstPiece],
    [
      "no-continue",
      "R-HTTP-03",
      "Answers 417 to expect: 100-continue.",
      () => ({ expect: () => plain(417, "no expectations") })
    ],
    ["deaf-to-expect", "R-HTTP-03", "Does nothing about expect: 100-continue.", () => ({ expect: () => "ignore" })],
    [
      "lower-case-headers",
      "R-HTTP-04",
      "Looks for webhook-id in just this spelling.",
      turnsAway(400, "webhook-id is missing", (request) => !hasSpelling(request, "webhook-id"))
    ],
    [
      "two-spellings",
      "R-HTTP-04",
      "Looks for webhook-id and Webhook-Id, as it met them, and in no other spelling.",
      turnsAway(400, "webhook-id is missing", (request) => !hasSpelling(request, "webhook-id", "Webhook-Id"))
    ],
    [
      "no-charset",
      "R-HTTP-05",
      "Refuses a content type with a parameter.",
      turnsAway(415, "application/json only", (request) => contentTypeOf(request).includes(";"))
    ],
    [
      "type-in-lower-case",
      "R-HTTP-05",
      "Compares the content type letter by letter.",
      turnsAway(415, "application/json only", (request) => !contentTypeOf(request).startsWith("application/json"))
    ],
    [
      "one-a-connection",
      "R-HTTP-06",
      "Refuses the second request on a connection.",
      () => {
        const used = new WeakSet<object>()
        return {
          acknowledge: (_, __, request) => {
            const socket = socketOf(request)
            if (used.has(socket)) return plain(400, "connection was used")
            used.add(socket)
            return acknowledged
          }
        }
      }
    ],
    [
      "forgets-the-third",
      "R-HTTP-06",
      "Answers two requests on a connection and no more.",
      () => {
        const answered = new WeakMap<object, number>()
        return {
          send: (given, request, response) => {
            const count = (answered.get(request.socket) ?? 0) + 1
            answered.set(request.socket, count)
            if (count <= 2) sendAnswer(given, request, response)
          }
        }
      }
    ],
    [
      "keep-alive-only",
      "R-HTTP-07",
      "Refuses a request that asks for the connection to be closed.",
      turnsAway(400, "keep-alive is required", ({ headers }) => headers["connection"] === "close")
    ],
    [
      "closes-too-soon",
      "R-HTTP-07",
      "Closes a connection that is to be closed before its answer is out.",
      () => ({
        send: (given, request, response) => {
          if (request.headers.connection === "close") request.socket.destroy()
          else sendAnswer(given, request, response)
        }
      })
    ],
    ["one-hundred-kib", "R-HTTP-08", "Answers 413 to bodies of more than 100 KiB, as its framework does.", upTo(100)],
    [
      "quarter-mebibyte",
      "R-HTTP-08",
      "Answers 413 to bodies of more than 256 KiB; data alone may have as much.",
      upTo(256)
    ],
    [
      "dies-of-bad-json",
      "R-HTTP-09",
      "Lets what the parser throws end its only worker.",
      (correct) => {
        let isDead = false
        return {
          admit: (request) => {
            correct.admit(request)
            if (isDead) throw new Refusal(502, "no worker")
          },
          parse: (request, body) => {
            try {
              return correct.parse(request, body)
            } catch (error) {
              isDead = true
              throw error
            }
          }
        }
      }
    ],
    [
      "slots-not-given-back",
      "R-HTTP-09",
      "Has four slots for uploads and never gives back that of a broken one.",
      (correct) => {
        let free = 4
        return {
          readBody: async (request) => {
            if (free <= 0) throw new Refusal(503, "no free worker")
            free--
            const body = await correct.readBody(request)
            free++
            return body
          }
        }
      }
    ],
    [
      "one-body-at-a-time",
      "R-HTTP-09",
      "Reads bodies under a lock, one after the other.",
      (correct) => {
        let last: Promise<unknown> = Promise.resolve()
        return {
          readBody: (request) => {
            const own = last.then(() => correct.readBody(request))
            last = own.catch(() => undefined)
            return own
          }
        }
      }
    ]
  ),
  ...faults(2)([
    "decodes-pieces",
    "R-HTTP-02",
    "Makes a text of each piece of the body as it comes.",
    () => ({
      readBody: async ({ source }) => {
        let body = ""
        for await (const piece of incoming(source)) body += String(piece)
        return Buffer.from(body)
      }
    })
  ])
]
