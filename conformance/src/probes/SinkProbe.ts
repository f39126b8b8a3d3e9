/**
 * The probe that plays the peer: the suite hosts a URL, and the receiver's own outbound effect is pointed at it. Each
 * request that carries an event's id is one effect.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage, Server } from "node:http"
import { eventIdsIn } from "../executor/Strangers.ts"
import type { Probe, Subject } from "./Probe.ts"
import { ProbeUnusable } from "./Probe.ts"

const mostBytes = 1_048_576

/** Where the id may stand: in the path, the query, a header or the body; as webhook-id, or as data.id of its own. */
const textOf = (request: IncomingMessage, body: string): string =>
  [
    decodeURIComponent(request.url ?? "").replaceAll("+", " "),
    ...Object.entries(request.headers).flatMap(([, value]) => value ?? []),
    body
  ].join("\n")

const listen = (port: number, received: Array<string>): Effect.Effect<Server, ProbeUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server, ProbeUnusable>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8")
        request.on("data", (chunk) => {
          if (body.length < mostBytes) body += chunk
        })
        request.on("end", () => {
          received.push(textOf(request, body))
          response.end("{}")
        })
      })
      server.on("error", (error) =>
        resume(
          Effect.fail(
            new ProbeUnusable({
              message: `The sink can't listen at port ${port} (${error.message}). Choose another: --probe sink:PORT.`
            })
          )
        )
      )
      server.listen(port, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

const escaped = (text: string): string => text.replaceAll(/[^A-Za-z0-9]/g, "\\$&")

/** An id that is not part of a longer one. */
const mentions = (text: string, id: string): boolean =>
  text.includes(id) && new RegExp(`(?<![A-Za-z0-9_-])${escaped(id)}(?![A-Za-z0-9_-])`).test(text)

/** Listens for as long as the scope lives. */
export const sinkProbe = Effect.fnUntraced(function* (
  port: number
): Effect.fn.Return<Probe, ProbeUnusable, Scope.Scope> {
  const received: Array<string> = []
  yield* listen(port, received)
  const read = ({ dataId, webhookId }: Subject) =>
    Effect.sync(() => ({
      effects: received.filter((text) => mentions(text, webhookId) || (dataId !== "" && mentions(text, dataId))).length,
      digest: null
    }))
  const seen = Effect.sync(() => received.flatMap(eventIdsIn))
  return { kind: "sink", name: `http://127.0.0.1:${port}/`, concurrency: 1, read, seen }
})
