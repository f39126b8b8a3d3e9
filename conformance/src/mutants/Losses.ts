/**
 * Faults that lose an event, or make one up.
 */
import { acknowledged, plain, readWhole } from "../receivers/Parts.ts"
import type { Message } from "../receivers/Parts.ts"
import { checkThenAct, fault, pause } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const probed = fault(2)

/** Keeps a socket's end in sight. */
const isGone = ({ request }: Message): boolean => request.socket.destroyed

export const lossFaults: ReadonlyArray<Fault> = [
  probed("swallows-errors", "R-LOS-01", "Catches what goes wrong with a call, and answers 200.", (correct) => ({
    keep: (message) => (message.event.resource_type === "call" ? false : correct.keep(message))
  })),
  probed("every-seventh", "R-LOS-01", "Drops every seventh event in a queue that is not durable.", (correct) => {
    let count = 0
    return { keep: (message) => (++count % 7 === 0 ? false : correct.keep(message)) }
  }),
  probed("full-queue", "R-LOS-01", "Throws away what its queue of one has no room for, and answers 200.", (correct) => {
    let busy = false
    return {
      keep: async (message) => {
        if (busy) return false
        busy = true
        await pause(10)
        busy = false
        return correct.keep(message)
      }
    }
  }),
  probed(
    "marked-before-read",
    "R-LOS-02",
    "Marks the id when the headers are there, before the body is.",
    (correct, { ledger, now }) => {
      const first = new WeakSet<object>()
      return {
        arrived: (request) => {
          if (ledger.mark(`early ${String(request.headers["webhook-id"])}`, now())) first.add(request)
          return correct.arrived(request)
        },
        keep: (message) => first.has(message.request) && correct.keep(message)
      }
    }
  ),
  probed(
    "broken-off-marked",
    "R-LOS-02",
    "Marks the id of a body that broke off, and drops the whole one later.",
    (_, { ledger, now }) => ({
      read: async (request) => {
        try {
          return await readWhole(request)
        } catch (error) {
          ledger.mark(`${request.url} ${String(request.headers["webhook-id"])}`, now())
          throw error
        }
      }
    })
  ),
  probed("first-attempts-only", "R-LOS-02", "Takes every attempt after the first for a duplicate.", (correct) => ({
    keep: (message) => message.request.headers["doorhook-attempt"] === "1" && correct.keep(message)
  })),
  probed(
    "cancelled-with-mark",
    "R-LATE-01",
    "Stops working when the sender hangs up, but has marked the id.",
    (_, { ledger, now }) => ({
      keep: async (message) => {
        if (!ledger.mark(message.key, now())) return false
        await pause(60)
        if (!isGone(message)) ledger.act(message)
        return true
      }
    })
  ),
  probed(
    "effect-then-mark",
    "R-LATE-01",
    "Marks the id only once the answer could be sent.",
    (_, { deadline, ledger, now }) => ({
      keep: async (message) => {
        if (ledger.isKnown(message.key)) return false
        ledger.act(message)
        await pause(Math.min(60, deadline / 4))
        if (!isGone(message)) ledger.mark(message.key, now())
        return true
      }
    })
  ),
  probed(
    "two-at-once",
    "R-LATE-01",
    "Starts again while the first attempt still runs, and both finish.",
    checkThenAct(80)
  ),
  probed(
    "half-understood",
    "R-LOS-03",
    "Finds what it needs with a regular expression, and so acts on a broken body.",
    (correct, { ledger }) => ({
      understand: (body, headers) => {
        const read = correct.understand(body, headers)
        if ("wrong" in read) ledger.act({ id: String(headers["webhook-id"]), scope: "/hook", stored: "{}" })
        return read
      }
    })
  ),
  probed(
    "stored-then-checked",
    "R-LOS-03",
    "Stores whatever comes and acts on it by and by, whether it was refused or not.",
    (correct, { ledger, now }) => ({
      isGenuine: (headers, body) => {
        const id = String(headers["webhook-id"])
        if ("wrong" in correct.understand(body, headers)) {
          ledger.once(`/hook ${id}`, { id, scope: "/hook", stored: "{}" }, now())
        }
        return correct.isGenuine(headers, body)
      }
    })
  ),
  probed("newest-only", "R-ORD-01", "Drops events that are older than the newest it has.", (correct) => {
    let newest = ""
    return {
      keep: (message) => {
        const at = String(message.event.data["logged_at"])
        if (at < newest) return false
        newest = at
        return correct.keep(message)
      }
    }
  }),
  probed("too-old", "R-ORD-01", "Drops events whose logged_at is more than an hour ago.", (correct, { now }) => ({
    keep: (message) =>
      Date.parse(String(message.event.data["logged_at"])) < now() - 3_600_000 ? false : correct.keep(message)
  })),
  fault(2)(
    "pages-again",
    "R-GET-01",
    "Acts on GET as on POST: the router takes any method.",
    (correct, { ledger }) => ({
      arrived: (request) => {
        if (request.method === "POST") return null
        ledger.act({ id: String(request.headers["webhook-id"]), scope: "/hook", stored: "{}" })
        return request.method === "HEAD" || request.method === "GET" ? plain(200) : correct.arrived(request)
      }
    })
  ),
  fault(1)(
    "get-crashes",
    "R-GET-01",
    "Drops the connection on a GET and then answers nobody for a while.",
    (correct) => {
      let dead = false
      return {
        arrived: (request) => {
          if (request.method !== "POST") dead = true
          return dead ? plain(500, "bad state") : correct.arrived(request)
        }
      }
    }
  ),
  fault(1)(
    "hung-up-means-never",
    "R-LATE-03",
    "Refuses an event for good once its sender hung up before the answer.",
    () => {
      const abandoned = new Set<string>()
      return {
        answer: async (message) => {
          if (abandoned.has(message.key)) return plain(410, "gave up before")
          await pause(20)
          if (isGone(message)) abandoned.add(message.key)
          return acknowledged
        }
      }
    }
  )
]
