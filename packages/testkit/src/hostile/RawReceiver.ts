/**
 * A receiver on raw sockets. A behaviour handles each connection, and may break the rules of HTTP. The receiver counts
 * connections, so that tests can check that none stays open.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { portOf } from "../ListeningServer.ts"

/** Handles a connection of a receiver. The receiver handles errors and closing. */
export type Behaviour = (socket: Socket) => void

export interface RawReceiver {
  readonly port: number
  readonly url: string
  /** Returns the number of accepted connections. */
  readonly accepted: () => number
  /** Returns the number of connections that are open on this side. */
  readonly open: () => number
  /**
   * Resolves as soon as no connection is open. Discards unread input first, because the end of a connection can be read
   * only after that input.
   */
  readonly allClosed: () => Promise<void>
}

/** Starts a receiver for the lifetime of the scope. Default: a free port. */
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

/** Calls `then` with each complete request of a connection. */
export const onRequest = (socket: Socket, then: (request: string) => void): void => {
  let chunks: Array<Buffer> = []
  let received = 0
  /** Length of the request; infinite until its headers are complete. */
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

/** Responds to every request with the same bytes. */
export const answers =
  (bytes: string | Buffer): Behaviour =>
  (socket) =>
    onRequest(socket, () => socket.write(bytes))

/** Responds with these bytes and closes the connection. */
export const answersAndEnds =
  (bytes: string | Buffer): Behaviour =>
  (socket) =>
    onRequest(socket, () => socket.end(bytes))

/** A correct response. */
export const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
