/**
 * Faults in HTTP.
 */
import { once } from "node:events"
import { acknowledged, plain, readWhole } from "../receivers/Parts.ts"
import type { Parts } from "../receivers/Parts.ts"
import { fault, pause } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const seen = fault(1)
const probed = fault(2)

type Arrived = Parts["arrived"]

/** Refuses some requests before their body is read. */
const turnsAway =
  (isRefused: (request: Parameters<Arrived>[0]) => boolean, status: number, why: string) =>
  (correct: Parts): Partial<Parts> => ({
    arrived: (request) => correct.arrived(request) ?? (isRefused(request) ? plain(status, why) : null)
  })

const rawValue = ({ rawHeaders }: Parameters<Arrived>[0], name: string): string | undefined =>
  rawHeaders.find((_, index) => index % 2 === 1 && rawHeaders[index - 1] === name)

export const transportFaults: ReadonlyArray<Fault> = [
  seen(
    "length-wanted",
    "R-HTTP-01",
    "Answers 411 to a chunked request.",
    turnsAway(({ headers }) => headers["content-length"] === undefined, 411, "length required")
  ),
  seen("first-chunk", "R-HTTP-01", "Takes the first piece of the body for the whole of it.", () => ({
    read: async (request) => {
      const [chunk]: Array<unknown> = await once(request, "data")
      request.resume()
      return Buffer.isBuffer(chunk) ? chunk : Buffer.from("")
    }
  })),
  seen("impatient", "R-HTTP-02", "Answers 408 when a body takes more than a moment.", (correct, { deadline }) => ({
    read: (request) =>
      Promise.race([correct.read(request), pause(Math.min(100, deadline / 4)).then(() => plain(408, "too slow"))])
  })),
  seen("first-packet", "R-HTTP-02", "Reads once from the socket and parses what is there.", () => ({
    read: async (request) => {
      const [chunk]: Array<unknown> = await once(request, "data")
      request.resume()
      return Buffer.isBuffer(chunk) ? chunk : Buffer.from("")
    }
  })),
  seen("no-continue", "R-HTTP-03", "Answers 417 to Expect: 100-continue.", () => ({
    expected: () => plain(417, "no expectations")
  })),
  seen(
    "upper-case-headers",
    "R-HTTP-04",
    "Looks for webhook-id in just this case.",
    turnsAway((request) => rawValue(request, "webhook-id") === undefined, 400, "webhook-id is missing")
  ),
  seen(
    "exact-content-type",
    "R-HTTP-05",
    "Compares the content type letter by letter.",
    turnsAway(({ headers }) => headers["content-type"] !== "application/json", 415, "application/json only")
  ),
  seen("one-a-connection", "R-HTTP-06", "Refuses the second request on a connection.", () => {
    const used = new WeakSet<object>()
    return {
      answer: ({ request: { socket } }) => {
        if (used.has(socket)) return plain(400, "connection was used")
        used.add(socket)
        return acknowledged
      }
    }
  }),
  seen("forgets-the-third", "R-HTTP-06", "Answers two requests on a connection and no more.", () => {
    const answered = new WeakMap<object, number>()
    return {
      send: ({ body, headers, status }, response, { socket }) => {
        const count = (answered.get(socket) ?? 0) + 1
        answered.set(socket, count)
        if (count <= 2) response.writeHead(status, headers).end(body)
      }
    }
  }),
  seen(
    "keep-alive-only",
    "R-HTTP-07",
    "Does not answer a request that asks for the connection to be closed.",
    turnsAway(({ headers }) => headers.connection === "close", 400, "keep-alive is required")
  ),
  seen("small-bodies", "R-HTTP-08", "Answers 413 to bodies of more than 16 KiB.", () => ({
    read: async (request) => {
      const body = await readWhole(request)
      return body.length > 16_384 ? plain(413, "too long") : body
    }
  })),
  seen(
    "quarter-mebibyte",
    "R-HTTP-08",
    "Answers 413 to bodies of more than 256 KiB; data alone may have as much.",
    () => ({
      read: async (request) => {
        const body = await readWhole(request)
        return body.length > 262_144 ? plain(413, "too long") : body
      }
    })
  ),
  seen("dies-of-bad-json", "R-HTTP-09", "Lets what the parser throws end its only worker.", (correct) => {
    let isDead = false
    return {
      understand: (body, headers) => {
        const understood = correct.understand(body, headers)
        if ("wrong" in understood) isDead = true
        return understood
      },
      arrived: (request) => correct.arrived(request) ?? (isDead ? plain(502, "no worker") : null)
    }
  }),
  seen("wedged", "R-HTTP-09", "Has four slots for uploads and never gives back that of a broken one.", (correct) => {
    let free = 4
    return {
      arrived: (request) => correct.arrived(request) ?? (free <= 0 ? plain(503, "no free worker") : null),
      read: async (request) => {
        free--
        const body = await correct.read(request)
        free++
        return body
      }
    }
  }),
  seen("one-body-at-a-time", "R-HTTP-09", "Reads bodies under a lock, one after the other.", (correct) => {
    let last: Promise<unknown> = Promise.resolve()
    return {
      read: (request) => {
        const own = last.then(() => correct.read(request))
        last = own.catch(() => undefined)
        return own
      }
    }
  }),
  probed("decodes-pieces", "R-HTTP-02", "Makes a text of each piece of the body as it comes.", () => ({
    read: async (request) => {
      let body = ""
      for await (const chunk of request) body += String(chunk)
      return Buffer.from(body)
    }
  }))
]
