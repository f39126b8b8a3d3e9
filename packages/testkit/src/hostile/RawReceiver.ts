/**
 * A receiver at the level of the socket, which does with each connection what a behaviour says: HTTP, or what only looks
 * like it. It counts connections, so that tests can see that none is left open.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { portOf } from "../ListeningServer.ts"

/** What a receiver does with a connection. It need not care for errors or for the end. */
export type Behaviour = (socket: Socket) => void

export interface RawReceiver {
  readonly port: number
  readonly url: string
  /** How many connections were accepted. */
  readonly accepted: () => number
  /** How many of them are open on this side. */
  readonly open: () => number
  /** Resolves once no connection is open. Reads what was left unread, because only who reads learns of the end. */
  readonly allClosed: () => Promise<void>
}

/** Starts a receiver, on a free port unless told otherwise; it is gone with the scope. */
export const serve = (
  behave: Behaviour,
  options: { readonly host?: string; readonly port?: number; readonly scheme?: "http" | "https" } = {}
): Effect.Effect<RawReceiver, never, Scope.Scope> => {
  const { host = "127.0.0.1", scheme = "http" } = options
  return Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      let accepted = 0
      let whenClosed: () => void = () => undefined
      const server = createServer({ pauseOnConnect: true }, (socket) => {
        accepted++
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => {
          sockets.delete(socket)
          if (sockets.size === 0) whenClosed()
        })
        behave(socket)
      })
      server.listen(options.port ?? 0, host)
      await once(server, "listening")
      const port = portOf(server)
      return {
        port,
        url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}/hook?token=url-secret`,
        accepted: () => accepted,
        open: () => sockets.size,
        allClosed: () =>
          new Promise<void>((resolve) => {
            whenClosed = resolve
            if (sockets.size === 0) resolve()
            for (const socket of sockets) socket.resume()
          }),
        stop: async () => {
          for (const socket of sockets) socket.destroy()
          server.close()
          await once(server, "close")
        }
      }
    }),
    ({ stop }) => Effect.promise(stop)
  )
}

/** Calls `then` when a request has arrived whole, and again for the next one on the same connection. */
export const onRequest = (socket: Socket, then: (request: string) => void): void => {
  let chunks: Array<Buffer> = []
  let received = 0
  /** How long the request is; unknown until its headers are there. */
  let expected = Number.POSITIVE_INFINITY
  socket.on("data", (chunk) => {
    chunks.push(chunk)
    received += chunk.length
    if (!Number.isFinite(expected)) {
      const head = Buffer.concat(chunks).toString("latin1")
      const headEnd = head.indexOf("\r\n\r\n")
      if (headEnd !== -1) expected = headEnd + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    }
    if (received < expected) return
    const request = Buffer.concat(chunks).toString("latin1")
    chunks = []
    received = 0
    expected = Number.POSITIVE_INFINITY
    then(request)
  })
  socket.resume()
}

/** Answers every request with the same bytes. */
export const answers =
  (bytes: string | Buffer): Behaviour =>
  (socket) =>
    onRequest(socket, () => socket.write(bytes))

/** Answers with these bytes and ends the connection. */
export const answersAndEnds =
  (bytes: string | Buffer): Behaviour =>
  (socket) =>
    onRequest(socket, () => socket.end(bytes))

/** The answer that every well-behaved receiver gives. */
export const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
