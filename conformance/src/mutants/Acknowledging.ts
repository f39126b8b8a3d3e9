/**
 * Receivers that answer wrongly.
 */
import { sendAnswer } from "@doorhook/receiver"
import { acknowledged, pause, plain } from "./Base.ts"
import type { Change } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const answers = (status: number, body = "", headers: Readonly<Record<string, string>> = {}): Change => {
  return () => ({ acknowledge: () => plain(status, body, headers) })
}

export const acknowledgingFaults: ReadonlyArray<Fault> = [
  ...faults(1)(
    ["refuses-all", "R-ACK-01", "Answers 500 to everything: a setting is missing.", answers(500, "DATABASE_URL?")],
    [
      "access-logs-only",
      "R-ACK-01",
      "Answers 404 to calls, although it is bound to them.",
      () => ({
        acknowledge: (_, { event }) =>
          event.resource_type === "call" ? plain(404, "no handler for call") : acknowledged
      })
    ],
    [
      "user-agent-wanted",
      "R-ACK-01",
      "Lets in one User-Agent only, the one of its own tests.",
      () => ({
        acknowledge: (_, __, { headers }) =>
          headers["user-agent"]?.startsWith("curl/") === true ? acknowledged : plain(403, "unknown client")
      })
    ],
    [
      "drops-the-connection",
      "R-ACK-01",
      "Closes the connection instead of answering.",
      () => ({
        send: (given, request, response) => {
          if (given.status === 200) request.socket.destroy()
          else sendAnswer(given, request, response)
        }
      })
    ],
    [
      "milliseconds-wanted",
      "R-ACK-01",
      "Reads times with a pattern that wants three digits of a second.",
      () => ({
        acknowledge: (_, { event }) =>
          /\.\d{3}Z$/.test(String(event.data["logged_at"])) ? acknowledged : plain(422, "logged_at is no time")
      })
    ],
    [
      "stale-keep-alive",
      "R-ACK-01",
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
    [
      "wakes-with-an-error",
      "R-ACK-01",
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
    ],
    ["ack-201", "R-ACK-02", "Answers 201 Created, because a record was created.", answers(201, "created")],
    ["ack-202", "R-ACK-02", "Answers 202 Accepted, because the work is only queued.", answers(202, "queued")],
    ["ack-204", "R-ACK-02", "Answers 204, because there is nothing to say.", answers(204)],
    ["redirect-302", "R-ACK-02", "Redirects to a page of thanks.", answers(302, "", { location: "/ready" })],
    [
      "redirect-308",
      "R-ACK-02",
      "Redirects to the URL with a slash at its end, and handles events there.",
      () => ({
        acknowledge: (_, __, { url }) => (url.endsWith("/") ? acknowledged : plain(308, "", { location: `${url}/` }))
      })
    ],
    [
      "late",
      "R-ACK-03",
      "Does the work first and answers after the deadline.",
      (_, { deadline }) => ({ acknowledge: () => pause(deadline * 1.4).then(() => acknowledged) })
    ],
    [
      "late-for-calls",
      "R-ACK-03",
      "Rings a phone before it answers a call, and that takes too long.",
      (_, { deadline }) => ({
        acknowledge: async (__, { event }) => {
          if (event.resource_type === "call") await pause(deadline * 1.4)
          return acknowledged
        }
      })
    ],
    ["never-answers", "R-ACK-03", "Forgets to answer.", () => ({ send: () => undefined })],
    [
      "endless-body",
      "R-ACK-04",
      "Sends 200 and never ends the body.",
      () => ({ send: ({ headers, status }, _, response) => void response.writeHead(status, headers).write("ok") })
    ],
    [
      "late-body",
      "R-ACK-04",
      "Sends 200 at once and the body after the deadline.",
      (_, { deadline }) => ({
        send: ({ body, headers, status }, __, response) => {
          response.writeHead(status, headers).flushHeaders()
          setTimeout(() => response.end(body), deadline * 1.4)
        }
      })
    ],
    [
      "short-body",
      "R-ACK-04",
      "Announces more bytes than it sends, and closes.",
      () => ({
        send: ({ headers, status }, { socket }, response) => {
          response.writeHead(status, { ...headers, "content-length": "512" }).write("ok")
          setImmediate(() => socket.end())
        }
      })
    ],
    [
      "broken-chunks",
      "R-ACK-04",
      "Ends the connection in the middle of a chunked body.",
      () => ({
        send: (_, { socket }) => void socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nok")
      })
    ]
  ),
  ...faults(1, { found: "WARN" })([
    "five-at-once",
    "R-ACK-01",
    "Has five connections to its database, and answers 503 to a sixth request.",
    (correct) => {
      let busy = 0
      return {
        keep: async (...given) => {
          await pause(15)
          return correct.keep(...given)
        },
        identify: (...given) => {
          busy += 1
          return correct.identify(...given)
        },
        acknowledge: () => {
          const most = busy
          busy -= 1
          return most > 5 ? plain(503, "no free connection", { "retry-after": "1" }) : acknowledged
        }
      }
    }
  ]),
  ...faults(1, { profile: "signed" })([
    "whole-secret",
    "R-ACK-01",
    "Uses the text of the secret as the key, whsec_ and all: nothing genuine fits.",
    (correct, { secret }) => ({
      verify: (request, body) =>
        correct.verify(request, secret === null ? body : Buffer.concat([Buffer.from(secret), body]))
    })
  ])
]
