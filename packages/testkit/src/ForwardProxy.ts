/**
 * A forward proxy for tests. Every tunnel leads to one receiver, whatever its target, so tests can use public addresses
 * without leaving the machine.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { connect } from "node:net"
import type { Certificate } from "./hostile/Certificates.ts"
import { listen } from "./ListeningServer.ts"

export interface ForwardProxy {
  readonly port: number
  /** Requested targets, with the headers of each CONNECT request. */
  readonly asked: ReadonlyArray<{ readonly place: string; readonly headers: IncomingHttpHeaders }>
}

/**
 * Starts a proxy. For each request, `refuses` returns a status to refuse it with, `"hangs up"` to close the connection,
 * or null to open a tunnel to `port`.
 */
export const startProxy = (
  port: number,
  refuses: (place: string, headers: IncomingHttpHeaders) => number | "hangs up" | null = () => null,
  certificate: Certificate | null = null
): Effect.Effect<ForwardProxy, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<ForwardProxy["asked"][number]> = []
      const server = certificate === null ? createServer() : createSecureServer(certificate)
      server.on("connect", (request, socket) => {
        const { headers, url: place = "" } = request
        asked.push({ place, headers })
        const status = refuses(place, headers)
        socket.on("error", () => undefined)
        if (status === "hangs up") return socket.destroy()
        if (status !== null) return socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
        const onward = connect(port, "127.0.0.1", () => socket.write("HTTP/1.1 200 Connection established\r\n\r\n"))
        onward.on("error", () => socket.destroy())
        onward.on("close", () => socket.destroy())
        socket.on("close", () => onward.destroy())
        onward.pipe(socket)
        return socket.pipe(onward)
      })
      return { ...(await listen(server)), asked }
    }),
    ({ close }) => Effect.promise(close)
  )
