/**
 * Receivers that do not implement all of HTTP, answer wrongly, or can't keep up with the rate they are made for.
 */
import { Refusal, sendAnswer } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { once } from "node:events"
import {
  acknowledged,
  besideOthers,
  deadline,
  idOf,
  incoming,
  isCall,
  isEvent,
  limitsTo,
  pause,
  plain,
  refuses,
  socketOf,
  turnsAway,
  unavailable
} from "./Base.ts"
import type { Change, WrongReceivers } from "./Base.ts"

/** Refuses bodies longer than this many KiB. */
const upTo =
  (kib: number): Change =>
  (correct) => ({
    readBody: async (request) => {
      const body = await correct.readBody(request)
      if (body.length > kib * 1_024) throw new Refusal(413, "too long")
      return body
    }
  })

/** Whether a request has a header whose name is spelled in one of these ways. */
const hasSpelling = ({ source }: ReceivedRequest, ...names: ReadonlyArray<string>): boolean =>
  incoming(source).rawHeaders.some((name, index) => index % 2 === 0 && names.includes(name))

const contentTypeOf = ({ headers }: ReceivedRequest): string => headers["content-type"] ?? ""

const hasNoLength = ({ headers }: ReceivedRequest): boolean => headers["content-length"] === undefined

export const httpRows: WrongReceivers = {
  "R-HTTP-01": {
    "length-wanted": ["Answers 411 to a chunked request.", turnsAway(411, hasNoLength)],
    "no-length-no-body": [
      "Treats a request without content-length as one without a body.",
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
      "Reads once from the socket and parses only that.",
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
      "Decodes each piece of the body separately, which breaks characters that are split.",
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
    "deaf-to-expect": ["Ignores expect: 100-continue.", () => ({ expect: () => "ignore" })]
  },
  "R-HTTP-04": {
    "lower-case-headers": [
      "Accepts only the spelling webhook-id.",
      turnsAway(400, (request) => !hasSpelling(request, "webhook-id"))
    ],
    "two-spellings": [
      "Accepts only the spellings webhook-id and Webhook-Id.",
      turnsAway(400, (request) => !hasSpelling(request, "webhook-id", "Webhook-Id"))
    ]
  },
  "R-HTTP-05": {
    "no-charset": [
      "Refuses a content type with a parameter.",
      turnsAway(415, (request) => contentTypeOf(request).includes(";"))
    ],
    "type-in-lower-case": [
      "Compares the content type case-sensitively.",
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
      "Answers only the first two requests on a connection.",
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
      "After connection: close, closes the connection before the answer is sent.",
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
    "quarter-mebibyte": ["Answers 413 to bodies of more than 256 KiB, although data alone may be that long.", upTo(256)]
  },
  "R-HTTP-09": {
    "dies-of-bad-json": [
      "Loses its only worker when the parser throws.",
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
      "Has four slots for uploads, and never frees the slot of a broken upload.",
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
      "Reads only one body at a time.",
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

export const answerRows: WrongReceivers = {
  "R-ACK-01": {
    "access-logs-only": ["Answers 404 to calls, although it is bound to them.", refuses(404, isCall)],
    "milliseconds-wanted": [
      "Parses times with a pattern that requires milliseconds.",
      refuses(422, ({ event }) => !/\.\d{3}Z$/.test(String(event.data["logged_at"])))
    ],
    "first-calls-refused": [
      "Answers 503 with Retry-After to the first attempt of every call, even if nothing else is sent.",
      () => {
        const seen = new Set<string>()
        return {
          acknowledge: (_, delivery) => {
            const isFirst = !seen.has(delivery.id)
            seen.add(delivery.id)
            return isFirst && isCall(delivery) ? plain(503, "not yet", { "retry-after": "1" }) : acknowledged
          }
        }
      }
    ],
    "always-429": ["Answers 429 with Retry-After to everything.", refuses(429)],
    "one-in-twenty": [
      "Answers 500 to every twentieth event.",
      () => {
        let events = 0
        return { acknowledge: (isNew) => (isNew && ++events % 20 === 0 ? plain(500, "bad luck") : acknowledged) }
      }
    ],
    resets: ["Resets every connection.", () => ({ send: (_, { socket }) => void socket.resetAndDestroy() })],
    "not-http": [
      "Answers with something that is not HTTP.",
      () => ({ send: (_, { socket }) => void socket.end("OK") })
    ],
    "five-at-once": [
      "Has five connections to its database, and answers 503 to a sixth request in flight.",
      besideOthers(5, () => {
        throw unavailable()
      }),
      { found: "WARN" }
    ],
    "whole-secret": [
      "Uses the text of the secret including whsec_ as the key, so that no genuine signature matches.",
      (correct, { secret }) => ({
        verify: (request, body) => correct.verify(request, Buffer.concat([Buffer.from(secret ?? ""), body]))
      }),
      { profile: "signed" }
    ],
    "stale-keep-alive": [
      "Does not close a connection that was idle for two seconds, but resets it when the next request arrives.",
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
      "Loses its database connection after three idle seconds, and answers 500 to the next event.",
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
      "Redirects to the URL with a slash at the end, and handles events there.",
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
    "never-answers": ["Never answers.", () => ({ send: () => undefined })]
  },
  "R-ACK-04": {
    "short-body": [
      "Sends fewer bytes than it announces, and closes the connection.",
      () => ({
        send: ({ headers, status }, { socket }, response) => {
          response.writeHead(status, { ...headers, "content-length": "512" }).write("ok")
          setImmediate(() => socket.end())
        }
      })
    ],
    "long-body": [
      "Sends more bytes than it announces.",
      () => ({
        send: ({ headers, status }, { socket }, response) => {
          response.writeHead(status, { ...headers, "content-length": "2" }).end("ok")
          socket.write("more")
        }
      })
    ],
    "endless-body": [
      "Sends 200 and never ends the body.",
      () => ({ send: ({ headers, status }, _, response) => void response.writeHead(status, headers).write("ok") })
    ]
  },
  "R-ACK-05": {
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
      },
      { found: "WARN" }
    ],
    "refuses-for-good": [
      "Answers 429 to more than 15 requests a second, and to what it once refused.",
      (correct, box) => {
        const refused = new Set<string>()
        const { admit = correct.admit } = limitsTo({ rate: 15 })(correct, box)
        return {
          admit: async (request) => {
            if (refused.has(idOf(request))) throw new Refusal(429, "slow down")
            refused.add(idOf(request))
            await admit(request)
            refused.delete(idOf(request))
          }
        }
      }
    ],
    "ever-slower": [
      "Takes 25 ms longer for each event that it has stored.",
      () => {
        let stored = 0
        return { acknowledge: () => pause(25 * stored++).then(() => acknowledged) }
      }
    ],
    "one-at-a-time": [
      "Handles one request at a time, slowly, behind a global lock.",
      () => {
        let last = Promise.resolve()
        return { acknowledge: () => (last = last.then(() => pause(deadline / 50))).then(() => acknowledged) }
      }
    ]
  }
}
