/**
 * An HTTP server in the test's own process that keeps what it got and answers what the test says.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { text } from "node:stream/consumers"
import { listen } from "./ListeningServer.ts"

/** One request as it arrived. */
export interface Received {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Its headers as one text each. */
export const plainHeaders = ({ headers }: Received): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/** What a receiver answers, beside its status. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Does with a request what it likes, down to its socket. */
export type Handler = (received: Received, response: ServerResponse, socket: Socket, nth: number) => void

export interface Receiver {
  readonly origin: string
  /** Its origin with the path `/hook`. */
  readonly url: string
  readonly port: number
  readonly received: ReadonlyArray<Received>
  /** Resolves once the condition holds; it is looked at after each request. */
  readonly until: (condition: (received: ReadonlyArray<Received>) => boolean) => Promise<void>
  /** Ends the server and every connection, as a process that dies does. */
  readonly die: () => Promise<void>
}

const open = async (handle: Handler) => {
  const received: Array<Received> = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    void text(request).then(
      (body) => {
        const one = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body }
        const nth = received.push(one)
        for (const check of waiting) check()
        handle(one, response, request.socket, nth)
      },
      // A request that broke off has arrived nowhere.
      () => response.destroy()
    )
  })
  const { close, port, url } = await listen(server)
  const until: Receiver["until"] = (condition) =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!condition(received)) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })
  return { origin: url, url: `${url}/hook`, port, received, until, die: close }
}

/** A receiver that hands each request, once it has arrived whole, to `handle`; gone with the scope. */
export const handlingReceiver = (handle: Handler): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => open(handle)),
    ({ die }) => Effect.promise(die)
  )

/** A receiver that answers the `nth` request (from 1) with what `answer` gives, a status or more, after as long as it takes. */
export const startReceiver = (
  answer: (received: Received, nth: number) => number | Answer | Promise<number | Answer> = () => 200
): Effect.Effect<Receiver, never, Scope.Scope> =>
  handlingReceiver((received, response, _, nth) => {
    void (async () => {
      const given = await answer(received, nth)
      const { body, headers, status } = typeof given === "number" ? { status: given, headers: {}, body: "" } : given
      response.writeHead(status, headers).end(body)
    })()
  })
