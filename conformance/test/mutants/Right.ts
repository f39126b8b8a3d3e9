/**
 * Unusual but correct receivers. The suite must not fail them.
 */
import { Refusal } from "@doorhook/receiver"
import type { Delivery } from "@doorhook/receiver"
import type { Options } from "../../src/record/Options.ts"
import type { Profile, Requirement } from "../../src/requirements/Requirement.ts"
import {
  acknowledged,
  actsUnless,
  besideItself,
  besideOthers,
  drops,
  incoming,
  isCall,
  isEvent,
  limitsTo,
  pause,
  scopeOf,
  socketOf,
  stalls,
  unavailable
} from "./Base.ts"
import type { Change } from "./Base.ts"
import { firstValue } from "./Losses.ts"
import { checks, isSigned } from "./Signatures.ts"

export interface RightReceiver {
  readonly name: string
  /** What the receiver does. */
  readonly does: string
  readonly change: Change
  /** Settings that the receiver's author would give. */
  readonly said: Partial<Pick<Options, "binding" | "tolerance">>
  readonly profile: Profile | null
  /** Requirements that may end as WARN, because the receiver breaks a SHOULD. */
  readonly warned: ReadonlyArray<Requirement["id"]>
  /** Requirements that might misjudge the receiver. */
  readonly met: ReadonlyArray<string>
}

const minute = 60_000

/** Requirements on duplicates, except those that use all the time of a run. */
const duplicates = ["R-DUP-01", "R-DUP-02", "R-DUP-03", "R-DUP-04"]

/** Refuses events that it is not bound to. */
const unbound =
  (status: number, isBound: (delivery: Delivery) => boolean): Change =>
  (correct) => ({
    parse: (...given) => {
      const delivery = correct.parse(...given)
      if (!isBound(delivery)) throw new Refusal(status, "no handler")
      return delivery
    }
  })

const slow =
  (milliseconds: number): Change =>
  () => ({ acknowledge: () => pause(milliseconds).then(() => acknowledged) })

/** Writes a time in another zone, as a database might. */
const inZone = (time: unknown): string =>
  new Date(String(time)).toLocaleString("sv-SE", { timeZone: "Asia/Kolkata", timeZoneName: "longOffset" })

const right = (
  name: string,
  does: string,
  met: ReadonlyArray<string>,
  change: Change,
  more: Partial<Pick<RightReceiver, "said" | "profile" | "warned">> = {}
): RightReceiver => ({ name, does, met, change, said: {}, profile: null, warned: [], ...more })

export const rightReceivers: ReadonlyArray<RightReceiver> = [
  right(
    "ignores-calls",
    "Is bound to access logs, and acknowledges calls without doing anything.",
    ["R-ACK-01", ...duplicates, "R-LOS-0*", "R-NEW-01"],
    drops(isCall),
    { said: { binding: ["access_log:create"] } }
  ),
  right(
    "no-handler-for-access-logs",
    "Is bound to calls, and answers 404 to access logs.",
    ["R-ACK-01", ...duplicates, "R-LATE-0*", "R-HTTP-0*"],
    unbound(404, isCall),
    { said: { binding: ["call:create"] } }
  ),
  right(
    "limit-of-five",
    "Answers 503 with Retry-After to a sixth request in flight, and handles its retry.",
    ["R-ACK-0*", ...duplicates, "R-FWD-0*"],
    besideOthers(5, () => {
      throw unavailable()
    }),
    { warned: ["R-ACK-01"] }
  ),
  right(
    "five-a-second",
    "Limits to 5 requests a second, with 429 and Retry-After.",
    ["R-ACK-0*", "R-DUP-01", "R-HTTP-06"],
    limitsTo({ rate: 5 }),
    { warned: ["R-ACK-01"] }
  ),
  right(
    "forty-a-second",
    "Limits to 40 requests a second, with 429 and Retry-After.",
    ["R-ACK-0*", ...duplicates, "R-NEW-01", "R-ORD-01", "R-HTTP-0*"],
    limitsTo({ rate: 40 }),
    { warned: ["R-ACK-01"] }
  ),
  right(
    "ten-a-connection",
    "Limits to 10 requests a second over each connection, with 503 and without Retry-After.",
    ["R-ACK-0*", "R-DUP-01", "R-HTTP-06"],
    limitsTo({ rate: 10, status: 503, asks: null, of: socketOf }),
    { warned: ["R-ACK-01"] }
  ),
  right(
    "counts-refused-requests",
    "Limits each address to 30 requests a second, refused ones included.",
    ["R-ACK-0*", ...duplicates],
    limitsTo({ rate: 30, countsRefused: true, of: (request) => socketOf(request).remoteAddress }),
    { warned: ["R-ACK-01"] }
  ),
  right(
    "hundred-in-ten-seconds",
    "Limits to 100 requests in ten seconds, and asks for a pause of ten seconds.",
    ["R-ACK-0*", "R-DUP-01", "R-HTTP-06"],
    limitsTo({ rate: 100, within: 10_000, asks: "10" }),
    { warned: ["R-ACK-01"] }
  ),
  right(
    "limits-on-a-busy-machine",
    "Limits each address to 30 requests a second, refused ones included, on a machine that stalls.",
    ["R-ACK-0*", ...duplicates],
    stalls(limitsTo({ rate: 30, countsRefused: true, of: (request) => socketOf(request).remoteAddress })),
    { warned: ["R-ACK-01"] }
  ),
  right(
    "limited-under-load",
    "Is made for 20 events a second and limits to 40, so that bursts are refused with 429.",
    ["R-ACK-05"],
    limitsTo({ rate: 40 }),
    { profile: "load", warned: ["R-ACK-05"] }
  ),
  right(
    "busy-with-the-event",
    "Answers 503 with Retry-After to a copy of an event that it is still handling.",
    ["R-ACK-01", ...duplicates, "R-LATE-0*"],
    besideItself(60, () => Promise.reject(unavailable()))
  ),
  right(
    "one-at-a-time",
    "Handles one request at a time, each in a few milliseconds.",
    ["R-ACK-0*", ...duplicates, "R-HTTP-0*"],
    (correct) => {
      let last: Promise<unknown> = Promise.resolve()
      return {
        keep: (...given) => {
          const kept = last.then(() => pause(3)).then(() => correct.keep(...given))
          last = kept.catch(() => undefined)
          return kept
        }
      }
    }
  ),
  right(
    "first-value",
    "Has a streaming parser, which reads the first value in a body and ignores the rest.",
    ["R-LOS-0*", "R-HTTP-09"],
    (correct) => ({ parse: (request, body) => correct.parse(request, firstValue(body)) }),
    { warned: ["R-LOS-03"] }
  ),
  right(
    "answers-early",
    "Handles an event as soon as it has read the last brace, and answers before the end of the body.",
    ["R-LOS-0*", "R-HTTP-0*"],
    () => ({
      readBody: async ({ source }) => {
        const pieces: Array<Buffer> = []
        for await (const piece of incoming(source).iterator({ destroyOnReturn: false })) {
          pieces.push(Buffer.from(piece))
          if (isEvent(Buffer.concat(pieces))) break
        }
        return Buffer.concat(pieces)
      }
    })
  ),
  right(
    "worker-that-polls",
    "Writes events into a table, and acts on them in a worker that polls the table every three seconds.",
    ["R-ACK-01", ...duplicates, "R-LOS-0*"],
    (_, { ledger, mark }) => {
      ledger.database.exec("CREATE TABLE IF NOT EXISTS inbox (id TEXT, scope TEXT, stored TEXT) STRICT")
      const put = ledger.database.prepare("INSERT INTO inbox VALUES (?, ?, ?)")
      const transaction = (run: () => void): void => {
        ledger.database.exec("BEGIN IMMEDIATE")
        run()
        ledger.database.exec("COMMIT")
      }
      const timer = setInterval(() => {
        if (!ledger.database.isOpen) return clearInterval(timer)
        transaction(() => ledger.database.exec("INSERT INTO effects SELECT *, 1 FROM inbox; DELETE FROM inbox"))
      }, 3_000).unref()
      return {
        keep: async (key, delivery, request) => {
          let isNew = false
          transaction(() => {
            isNew = mark(key)
            if (isNew) put.run(delivery.id, scopeOf(request), delivery.body)
          })
          return isNew
        }
      }
    }
  ),
  right(
    "counts-what-is-stored",
    "Stores late calls and replays like all other events, and its probe counts what is stored.",
    ["R-LATE-0*", "R-LOS-0*"],
    actsUnless(() => false),
    { warned: ["R-LATE-04"] }
  ),
  right(
    "tolerance-1m",
    "Accepts signatures for one minute.",
    ["R-SIG-0*", "R-ACK-01", "R-DUP-03"],
    checks(isSigned, 60),
    { said: { tolerance: minute }, profile: "signed" }
  ),
  right("tolerance-3m", "Accepts signatures for three minutes.", ["R-SIG-0*"], checks(isSigned, 180), {
    said: { tolerance: 3 * minute },
    profile: "signed"
  }),
  right("tolerance-10m", "Accepts signatures for ten minutes.", ["R-SIG-0*"], checks(isSigned, 600), {
    said: { tolerance: 10 * minute },
    profile: "signed"
  }),
  right("clock-2m-fast", "Has a clock that is two minutes ahead.", ["R-SIG-0*"], checks(isSigned, 180, 420), {
    profile: "signed",
    warned: ["R-SIG-08", "R-SIG-09"]
  }),
  right(
    "text-behind-the-signature",
    "Ignores text after the signature, which only the owner of the secret can send.",
    ["R-SIG-0*"],
    (correct) => ({
      verify: (request, body) => {
        const signature = request.headers["webhook-signature"]?.replaceAll(/(v1,[A-Za-z0-9+/]{43}=)[^ ]*/g, "$1")
        correct.verify({ ...request, headers: { ...request.headers, "webhook-signature": signature } }, body)
      }
    }),
    { profile: "signed", warned: ["R-SIG-02"] }
  ),
  right("get-404", "Answers 404 to every method except POST.", ["R-GET-01"], () => ({
    admit: ({ method }) => {
      if (method !== "POST") throw new Refusal(404, "")
    }
  })),
  right("closes-connections", "Closes each connection after its answer.", ["R-ACK-0*", "R-HTTP-0*"], ({ send }) => ({
    send: (given, ...rest) => send({ ...given, headers: { ...given.headers, connection: "close" } }, ...rest)
  })),
  right("http-1-0", "Answers in HTTP/1.0, without a length.", ["R-ACK-0*", "R-HTTP-0*"], () => ({
    send: ({ body, status }, request) => {
      request.resume()
      request.socket.end(`HTTP/1.0 ${status} Any\r\nContent-Type: text/plain\r\n\r\n${body}`)
    }
  })),
  right("answers-in-chunks", "Answers in chunks, after an early hint.", ["R-ACK-0*", "R-HTTP-0*"], () => ({
    send: ({ body, status }, _, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" })
      response.writeHead(status).write(body)
      response.end()
    }
  })),
  right("loud-headers", "Answers with header names in upper case.", ["R-ACK-0*", "R-DUP-01"], ({ send }) => ({
    send: (given, ...rest) =>
      send(
        {
          ...given,
          headers: Object.fromEntries(Object.entries(given.headers).map(([name, value]) => [name.toUpperCase(), value]))
        },
        ...rest
      )
  })),
  right("slow-300ms", "Takes 300 ms for each answer.", ["R-ACK-0*", ...duplicates, "R-HTTP-0*"], slow(300)),
  right("slow-3s", "Takes 3 s for each answer, with a deadline of 5 s.", ["R-HTTP-03", "R-HTTP-04"], slow(3_000)),
  right("starts-slowly", "Takes five seconds to start.", ["R-ACK-0*"], () => ({ start: () => pause(5_000) })),
  right(
    "another-time-zone",
    "Stores times in another zone, so that its probe can't return a digest of what was sent.",
    ["R-FWD-02", "R-ORD-01", "R-LOS-01"],
    (_, { once }) => ({
      keep: (key, delivery, request) => once(key, delivery, request, inZone(delivery.event.data["logged_at"]))
    })
  ),
  right(
    "documented-types-only",
    "Answers 422 to resource types and actions that no binding selects.",
    ["R-ACK-02", "R-FWD-01"],
    unbound(422, ({ event }) => ["access_log", "call"].includes(event.resource_type) && event.action === "create"),
    { warned: ["R-FWD-01"] }
  )
]
