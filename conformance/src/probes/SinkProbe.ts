/**
 * The probe that plays the peer: the suite hosts a URL, and the receiver's own outbound effect is pointed at it. Each
 * request that carries an event's id is one effect.
 */
import { eventIdPrefix, eventIdsIn } from "@doorhook/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage, Server } from "node:http"
import { unescape } from "node:querystring"
import type { Probe, Subject } from "./Probe.ts"
import { ProbeUnusable } from "./Probe.ts"

const mostBytes = 1_048_576

/** Where the id may stand, which the receiver may write as wrongly as it likes: in the path, the query, a header or the body; as webhook-id, or as data.id of its own. */
const textOf = (request: IncomingMessage, body: string): string =>
  [
    unescape(request.url ?? "").replaceAll("+", " "),
    ...Object.entries(request.headers).flatMap(([, value]) => value ?? []),
    body
  ].join("\n")

/** Words that may be an id: webhook-id, or the number that `data.id` is. */
const mayBeId = new RegExp(`^(?:${eventIdPrefix}[0-9A-Za-z]{1,80}|\\d{1,20})$`)

/** Which requests mention which ids. Bodies are not kept: a receiver may send many, for long. */
class Mentions {
  readonly #requests = new Map<string, Array<number>>()
  #count = 0

  /** An id counts once in a request, and not as a part of a longer word. */
  add(text: string): void {
    const request = this.#count++
    for (const word of new Set(text.match(/[A-Za-z0-9_-]+/g))) {
      if (!mayBeId.test(word)) continue
      const known = this.#requests.get(word)
      if (known === undefined) this.#requests.set(word, [request])
      else known.push(request)
    }
  }

  /** How many requests mention at least one of the ids. */
  countOf(...ids: ReadonlyArray<string>): number {
    return new Set(ids.flatMap((id) => this.#requests.get(id) ?? [])).size
  }

  ids(): ReadonlyArray<string> {
    return [...this.#requests.keys()].flatMap(eventIdsIn)
  }
}

const listen = (port: number, received: Mentions): Effect.Effect<Server, ProbeUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server, ProbeUnusable>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8")
        request.on("data", (chunk) => {
          if (body.length < mostBytes) body += chunk
        })
        request.on("end", () => {
          received.add(textOf(request, body))
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

/** Listens for as long as the scope lives. */
export const sinkProbe = Effect.fnUntraced(function* (
  port: number
): Effect.fn.Return<Probe, ProbeUnusable, Scope.Scope> {
  const received = new Mentions()
  yield* listen(port, received)
  const read = ({ dataId, webhookId }: Subject) =>
    Effect.sync(() => ({ effects: received.countOf(webhookId, dataId), digest: null }))
  const seen = Effect.sync(() => received.ids())
  return { kind: "sink", name: `http://127.0.0.1:${port}/`, concurrency: 1, read, seen }
})
