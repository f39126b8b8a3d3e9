/**
 * Receivers that answer wrongly, and that fall short at the rate they are made for.
 */
import { sendAnswer } from "@doorhook/receiver"
import { acknowledged, deadline, pause, plain } from "./Base.ts"
import { besideOthers, isCall, refuses, unavailable } from "./Changes.ts"
import type { Rows } from "./Changes.ts"

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
