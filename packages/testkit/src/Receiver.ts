/**
 * An HTTP server in the process of the test. It records requests and responds as the test says.
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

/** Returns the headers of a request, each as one string. */
export const plainHeaders = ({ headers }: Received): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/** A response. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Handles a request, through the response or directly on the socket. */
export type Handler = (received: Received, response: ServerResponse, socket: Socket, nth: number) => void

export interface Receiver {
  readonly origin: string
  /** The origin with the path `/hook`. */
  readonly url: string
  readonly port: number
  readonly received: ReadonlyArray<Received>
  /** Resolves once the condition is true. The condition is checked after each request. */
  readonly until: (condition: (received: ReadonlyArray<Received>) => boolean) => Promise<void>
  /** Closes the server and all connections, as if its process had died. */
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
      // An aborted request does not count as received.
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

/** Starts a receiver that passes each complete request to `handle`, for the lifetime of the scope. */
export const handlingReceiver = (handle: Handler): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => open(handle)),
    ({ die }) => Effect.promise(die)
  )

/** Starts a receiver. `answer` returns the status or response for the `nth` request (from 1), directly or later. */
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
