/**
 * Receivers to test the suite on: real HTTP servers, good and faulty, that write down what they get.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { createServer as createSocketServer } from "node:net"
import type { Server, Socket } from "node:net"

/** One request as a receiver sees it. */
export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The id seen before. */
  readonly duplicate: boolean
  /** How many requests came before this one. */
  readonly index: number
}

/** Answers a request; the socket is there for those who break it. */
export type Behaviour = (received: Received, response: ServerResponse, socket: Socket) => void

export interface Receiver {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Ends the server and every connection, as a process that dies does. */
  readonly die: () => void
}

const portOf = (server: Server): number => {
  const address = server.address()
  return address !== null && typeof address === "object" ? address.port : 0
}

/** A receiver for as long as the scope lives. */
export const receiver = (behave: Behaviour): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const received: Array<Received> = []
      const seen = new Set<string>()
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8")
        request.on("data", (chunk) => (body += chunk))
        request.on("end", () => {
          const id = String(request.headers["webhook-id"])
          const one: Received = {
            path: request.url ?? "",
            method: request.method ?? "",
            headers: request.headers,
            body,
            duplicate: seen.has(id),
            index: received.length
          }
          seen.add(id)
          received.push(one)
          behave(one, response, request.socket)
        })
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const die = (): void => {
        server.close()
        server.closeAllConnections()
      }
      return { url: `http://127.0.0.1:${portOf(server)}/hook`, received, die }
    }),
    ({ die }) => Effect.sync(die)
  )

/** A receiver at the level of the socket; answers its URL. */
export const socketReceiver = (connected: (socket: Socket) => void): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const sockets = new Set<Socket>()
        const server = createSocketServer((socket) => {
          sockets.add(socket)
          socket.on("error", () => undefined)
          connected(socket)
        })
        server.listen(0, "127.0.0.1")
        await once(server, "listening")
        return { server, sockets }
      }),
      ({ server, sockets }) =>
        Effect.sync(() => {
          for (const socket of sockets) socket.destroy()
          server.close()
        })
    ),
    ({ server }) => `http://127.0.0.1:${portOf(server)}/hook`
  )

/** A port of this machine at which nobody listens. */
export const deadPort: Effect.Effect<number> = Effect.promise(async () => {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const port = portOf(server)
  server.close()
  await once(server, "close")
  return port
})

/** Acknowledges. */
export const acknowledge: Behaviour = (_, response) => {
  response.end("ok")
}

/** Answers with a status. */
export const answer = (response: ServerResponse, status: number, body = ""): void => {
  response.writeHead(status)
  response.end(body)
}
