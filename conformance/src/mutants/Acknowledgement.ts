/**
 * Faults in how an event is answered.
 */
import { acknowledged, plain } from "../receivers/Parts.ts"
import { fault, pause } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const seen = fault(1)
const underLoad = fault(1, "load")

/** Runs one thing after the other. */
const oneByOne = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <A>(run: () => Promise<A>): Promise<A> => {
    const mine = last.then(run)
    last = mine.catch(() => undefined)
    return mine
  }
}

export const acknowledgementFaults: ReadonlyArray<Fault> = [
  seen("ack-201", "R-ACK-02", "Answers 201 Created, because a record was created.", () => ({
    answer: () => plain(201, "created")
  })),
  seen("ack-202", "R-ACK-02", "Answers 202 Accepted, because the work is only queued.", () => ({
    answer: () => plain(202, "queued")
  })),
  seen("ack-204", "R-ACK-02", "Answers 204, because there is nothing to say.", () => ({ answer: () => plain(204) })),
  seen("redirect-302", "R-ACK-02", "Redirects to a page of thanks after the form was posted.", () => ({
    answer: () => plain(302, "", { location: "/ready" })
  })),
  seen("redirect-308", "R-ACK-02", "Redirects to the URL with a slash at its end.", () => ({
    arrived: ({ url = "" }) => (url.endsWith("/") ? null : plain(308, "", { location: `${url}/` }))
  })),
  seen("refuses-all", "R-ACK-01", "Answers 500 to everything: a setting is missing.", () => ({
    answer: () => plain(500, "DATABASE_URL is not set")
  })),
  seen("access-logs-only", "R-ACK-01", "Answers 404 to calls: only access logs were asked for.", () => ({
    answer: ({ event }) => (event.resource_type === "call" ? plain(404, "no handler for call") : acknowledged)
  })),
  seen("user-agent-wanted", "R-ACK-01", "Lets in one User-Agent only, the one of its own tests.", () => ({
    arrived: ({ headers }) => (headers["user-agent"]?.startsWith("curl/") ? null : plain(403, "unknown client"))
  })),
  seen("drops-the-connection", "R-ACK-01", "Closes the connection instead of answering.", () => ({
    send: ({ body, headers, status }, response, request) => {
      if (status === 200) request.socket.destroy()
      else response.writeHead(status, headers).end(body)
    }
  })),
  seen("nine-at-once", "R-ACK-01", "Has nine connections to its database, and answers 503 to a tenth request.", () => {
    let busy = 0
    return {
      arrived: ({ method }) => (method === "POST" && busy >= 9 ? plain(503, "no free connection") : null),
      answer: async () => {
        busy += 1
        await pause(15)
        busy -= 1
        return acknowledged
      }
    }
  }),
  seen("milliseconds-wanted", "R-ACK-01", "Reads times with a pattern that wants three digits of a second.", () => ({
    answer: ({ event }) =>
      /\.\d{3}Z$/.test(String(event.data["logged_at"])) ? acknowledged : plain(422, "logged_at is no time")
  })),
  seen("late", "R-ACK-03", "Does the work first and answers after the deadline.", (_, { deadline }) => ({
    answer: async () => {
      await pause(deadline * 1.4)
      return acknowledged
    }
  })),
  seen(
    "late-for-calls",
    "R-ACK-03",
    "Rings a phone before it answers a call, and that takes too long.",
    (_, { deadline }) => ({
      answer: async ({ event }) => {
        if (event.resource_type === "call") await pause(deadline * 1.4)
        return acknowledged
      }
    })
  ),
  seen("never-answers", "R-ACK-03", "Forgets to answer.", () => ({ answer: () => new Promise(() => undefined) })),
  seen("endless-body", "R-ACK-04", "Sends 200 and never ends the body.", () => ({
    send: ({ headers, status }, response) => void response.writeHead(status, headers).write("ok")
  })),
  seen("late-body", "R-ACK-04", "Sends 200 at once and the body after the deadline.", (_, { deadline }) => ({
    send: ({ body, headers, status }, response) => {
      response.writeHead(status, headers).flushHeaders()
      setTimeout(() => response.end(body), deadline * 1.4)
    }
  })),
  seen("short-body", "R-ACK-04", "Announces more bytes than it sends, and closes.", () => ({
    send: ({ headers, status }, response, request) => {
      response.writeHead(status, { ...headers, "content-length": "512" }).write("ok")
      setImmediate(() => request.socket.end())
    }
  })),
  seen("broken-chunks", "R-ACK-04", "Ends the connection in the middle of a chunked body.", () => ({
    send: (_answer, _response, { socket }) => {
      socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nok")
    }
  })),
  underLoad(
    "one-at-a-time",
    "R-ACK-05",
    "Handles one request at a time, slowly, behind a global lock.",
    (_, { deadline }) => {
      const inTurn = oneByOne()
      return { answer: () => inTurn(() => pause(deadline / 8).then(() => acknowledged)) }
    }
  ),
  underLoad("rate-limited", "R-ACK-05", "Answers 429 to more than a few requests a second.", () => {
    const times: Array<number> = []
    return {
      answer: () => {
        const now = Date.now()
        while ((times[0] ?? now) < now - 1_000) times.shift()
        times.push(now)
        return times.length > 15 ? plain(429, "slow down", { "retry-after": "1" }) : acknowledged
      }
    }
  }),
  underLoad(
    "slower-with-each",
    "R-ACK-05",
    "Reads its whole log for each event, and so gets slower.",
    (_, { deadline }) => {
      let count = 0
      return {
        answer: async () => {
          await pause((deadline / 40) * count++)
          return acknowledged
        }
      }
    }
  )
]
