/**
 * The probe that plays the peer: the suite hosts a URL, and the receiver's own outbound effect is pointed at it. Each
 * request that carries an event's id is one effect; so are all those with one `Idempotency-Key`, as peers that know the
 * header have it: a receiver that was killed before it had noted its call must call again.
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

/** What the receiver says that all requests for one effect share; null where it does not say. */
const keyOf = ({ headers }: IncomingMessage): string | null => {
  const key = headers["idempotency-key"]
  return key === undefined || key === "" ? null : String(key)
}

const isEventId = new RegExp(`^${eventIdPrefix}[0-9A-Za-z]{1,80}$`)
/** What `data.id` may be. */
const isNumber = /^\d{1,20}$/

/** How many requests mention which ids. Bodies are not kept: a receiver may send many, for long. */
class Mentions {
  readonly #requests = new Map<string, number>()
  readonly #keys = new Set<string>()

  /**
   * An id counts once in a request, and not as a part of a longer word. A number beside a webhook-id is none of its own:
   * events of two types may share one. A key that came before makes a request no further effect, whatever it mentions.
   */
  add(text: string, key: string | null): void {
    if (key !== null && this.#keys.has(key)) return
    if (key !== null) this.#keys.add(key)
    const words = [...new Set(text.match(/[A-Za-z0-9_-]+/g))]
    const ids = words.filter((word) => isEventId.test(word))
    for (const id of ids.length > 0 ? ids : words.filter((word) => isNumber.test(word))) {
      this.#requests.set(id, (this.#requests.get(id) ?? 0) + 1)
    }
  }

  /** How many requests are about an event, by its webhook-id or by `data.id` alone. */
  countOf(webhookId: string, dataId: string): number {
    return (this.#requests.get(webhookId) ?? 0) + (this.#requests.get(dataId) ?? 0)
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
          received.add(textOf(request, body), keyOf(request))
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
    Effect.sync(() => ({ effects: received.countOf(webhookId, dataId), digest: null, data: null }))
  const seen = Effect.sync(() => received.ids())
  return { kind: "sink", name: `http://127.0.0.1:${port}/`, concurrency: 1, read, seen }
})
