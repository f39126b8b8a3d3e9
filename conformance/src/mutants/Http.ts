/**
 * Receivers that do not speak all of HTTP, that answer wrongly, or that fall short at the rate they are made for.
 */
import { Refusal, sendAnswer } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { once } from "node:events"
import {
  acknowledged,
  besideOthers,
  deadline,
  incoming,
  isCall,
  isEvent,
  pause,
  plain,
  refuses,
  socketOf,
  turnsAway,
  unavailable
} from "./Base.ts"
import type { Change, Rows } from "./Base.ts"

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

const hasNoLength = ({ headers }: ReceivedRequest): boolean => headers["content-length"] === undefined

export const httpRows: Rows = {
  "R-HTTP-01": {
    "length-wanted": ["Answers 411 to a chunked request.", turnsAway(411, hasNoLength)],
    "no-length-no-body": [
      "Takes a request without content-length for one without a body.",
      (correct) => ({
        readBody: async (request) => {
          const body = await correct.readBody(request)
          return hasNoLength(request) ? Buffer.from("") : body
        }
      })
    ]
  },
  "R-HTTP-02": {
    "first-packet": [
      "Reads once from the socket and parses what is there.",
      () => ({
        readBody: async ({ source }) => {
          const request = incoming(source)
          const [piece]: Array<unknown> = await once(request, "data")
          request.resume()
          return Buffer.isBuffer(piece) ? piece : Buffer.from("")
        }
      })
    ],
    "decodes-pieces": [
      "Makes a text of each piece of the body as it comes.",
      () => ({
        readBody: async ({ source }) => {
          let body = ""
          for await (const piece of incoming(source)) body += String(piece)
          return Buffer.from(body)
        }
      }),
      { level: 2 }
    ]
  },
  "R-HTTP-03": {
    "no-continue": ["Answers 417 to expect: 100-continue.", () => ({ expect: () => plain(417, "no expectations") })],
    "deaf-to-expect": ["Does nothing about expect: 100-continue.", () => ({ expect: () => "ignore" })]
  },
  "R-HTTP-04": {
    "lower-case-headers": [
      "Looks for webhook-id in just this spelling.",
      turnsAway(400, (request) => !hasSpelling(request, "webhook-id"))
    ],
    "two-spellings": [
      "Looks for webhook-id and Webhook-Id, as it met them, and in no other spelling.",
      turnsAway(400, (request) => !hasSpelling(request, "webhook-id", "Webhook-Id"))
    ]
  },
  "R-HTTP-05": {
    "no-charset": [
      "Refuses a content type with a parameter.",
      turnsAway(415, (request) => contentTypeOf(request).includes(";"))
    ],
    "type-in-lower-case": [
      "Compares the content type letter by letter.",
      turnsAway(415, (request) => !contentTypeOf(request).startsWith("application/json"))
    ]
  },
  "R-HTTP-06": {
    "one-a-connection": [
      "Refuses the second request on a connection.",
      (correct) => {
        const used = new WeakSet<object>()
        return {
          admit: (request) => {
            if (used.has(socketOf(request))) throw new Refusal(400, "connection was used")
            used.add(socketOf(request))
            correct.admit(request)
          }
        }
      }
    ],
    "forgets-the-third": [
      "Answers two requests on a connection and no more.",
      ({ send }) => {
        const counts = new WeakMap<object, number>()
        return {
          send: (given, request, response) => {
            const count = (counts.get(request.socket) ?? 0) + 1
            counts.set(request.socket, count)
            if (count <= 2) send(given, request, response)
          }
        }
      }
    ]
  },
  "R-HTTP-07": {
    "keep-alive-only": [
      "Refuses a request that asks for the connection to be closed.",
      turnsAway(400, ({ headers }) => headers["connection"] === "close")
    ],
    "closes-too-soon": [
      "Closes a connection that is to be closed before its answer is out.",
      () => ({
        send: (given, request, response) => {
          if (request.headers.connection === "close") request.socket.destroy()
          else sendAnswer(given, request, response)
        }
      })
    ]
  },
  "R-HTTP-08": {
    "one-hundred-kib": ["Answers 413 to bodies of more than 100 KiB, as its framework does.", upTo(100)],
    "quarter-mebibyte": ["Answers 413 to bodies of more than 256 KiB; data alone may have as much.", upTo(256)]
  },
  "R-HTTP-09": {
    "dies-of-bad-json": [
      "Lets what the parser throws end its only worker.",
      (correct) => {
        let isDead = false
        return {
          parse: (request, body) => {
            isDead ||= !isEvent(body)
            if (isDead) throw new Refusal(502, "no worker")
            return correct.parse(request, body)
          }
        }
      }
    ],
    "slots-not-given-back": [
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
    "one-body-at-a-time": [
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
  }
}

export const answerRows: Rows = {
  "R-ACK-01": {
    "access-logs-only": ["Answers 404 to calls, although it is bound to them.", refuses(404, isCall)],
    "milliseconds-wanted": [
      "Reads times with a pattern that wants three digits of a second.",
      refuses(422, ({ event }) => !/\.\d{3}Z$/.test(String(event.data["logged_at"])))
    ],
    "five-at-once": [
      "Has five connections to its database, and answers 503 to a sixth request.",
      besideOthers(5, () => {
        throw unavailable()
      }),
      { found: "WARN" }
    ],
    "whole-secret": [
      "Uses the text of the secret as the key, whsec_ and all: nothing genuine fits.",
      (correct, { secret }) => ({
        verify: (request, body) => correct.verify(request, Buffer.concat([Buffer.from(secret ?? ""), body]))
      }),
      { profile: "signed" }
    ],
    "stale-keep-alive": [
      "Resets a connection that was idle for two seconds when the next request comes, instead of closing it.",
      () => {
        const answered = new WeakMap<object, number>()
        return {
          send: (given, request, response) => {
            if (Date.now() - (answered.get(request.socket) ?? Infinity) > 2_000) request.socket.resetAndDestroy()
            else {
              answered.set(request.socket, Date.now())
              sendAnswer(given, request, response)
            }
          }
        }
      }
    ],
    "wakes-with-an-error": [
      "Finds its database connection gone after three quiet seconds, and answers 500 to the event that finds it out.",
      () => {
        let last = Infinity
        return {
          acknowledge: () => {
            const idle = Date.now() - last
            last = Date.now()
            return idle > 3_000 ? plain(500, "the database has gone away") : acknowledged
          }
        }
      }
    ]
  },
  "R-ACK-02": {
    "ack-202": ["Answers 202 Accepted, because the work is only queued.", refuses(202)],
    "redirect-308": [
      "Redirects to the URL with a slash at its end, and handles events there.",
      () => ({
        acknowledge: (_, __, { url }) => (url.endsWith("/") ? acknowledged : plain(308, "", { location: `${url}/` }))
      })
    ]
  },
  "R-ACK-03": {
    late: [
      "Does the work first and answers after the deadline.",
      () => ({ acknowledge: () => pause(deadline * 1.4).then(() => acknowledged) })
    ],
    "never-answers": ["Forgets to answer.", () => ({ send: () => undefined })]
  },
  "R-ACK-04": {
    "endless-body": [
      "Sends 200 and never ends the body.",
      () => ({ send: ({ headers, status }, _, response) => void response.writeHead(status, headers).write("ok") })
    ],
    "short-body": [
      "Announces more bytes than it sends, and closes.",
      () => ({
        send: ({ headers, status }, { socket }, response) => {
          response.writeHead(status, { ...headers, "content-length": "512" }).write("ok")
          setImmediate(() => socket.end())
        }
      })
    ]
  },
  "R-ACK-05": {
    "one-at-a-time": [
      "Handles one request at a time, slowly, behind a global lock.",
      () => {
        let last = Promise.resolve()
        return { acknowledge: () => (last = last.then(() => pause(deadline / 50))).then(() => acknowledged) }
      }
    ],
    "rate-limited": [
      "Answers 429 to more than 15 requests a second.",
      () => {
        const times: Array<number> = []
        return {
          acknowledge: () => {
            const now = Date.now()
            while ((times[0] ?? now) < now - 1_000) times.shift()
            return times.push(now) > 15 ? plain(429, "slow down", { "retry-after": "1" }) : acknowledged
          }
        }
      }
    ]
  }
}
