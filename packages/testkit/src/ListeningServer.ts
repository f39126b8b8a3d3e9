/**
 * Test servers on a free port. Closing a server closes all of its connections.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"
import type { Server, Socket } from "node:net"

/** A listening server. */
export interface ListeningServer {
  readonly port: number
  /** `http://127.0.0.1:PORT`. For another protocol, replace the scheme. */
  readonly url: string
  /** Closes the server and all connections, as if its process had died. */
  readonly close: () => Promise<void>
}

/** Returns the port that a server listens on, or 0 if the server does not listen. */
export const portOf = (server: Server): number => {
  const address = server.address()
  return address !== null && typeof address === "object" ? address.port : 0
}

/** Makes a server listen on loopback. Default: a free port. */
export const listen = async (server: Server, port = 0): Promise<ListeningServer> => {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  await once(server.listen(port, "127.0.0.1"), "listening")
  const close = async () => {
    if (!server.listening) return
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, "close")
  }
  return { port: portOf(server), url: `http://127.0.0.1:${portOf(server)}`, close }
}

/** Makes a server listen for the lifetime of the scope. */
export const listening = (server: Server): Effect.Effect<ListeningServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => listen(server)),
    ({ close }) => Effect.promise(close)
  )

const isTaken = (cause: unknown): boolean => Reflect.get(Object(cause), "code") === "EADDRINUSE"

/**
 * Returns a free port outside the ephemeral range, so that the system does not assign the port to another process
 * before the caller uses it.
 */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    try {
      const { close } = await listen(createServer(), port)
      await close()
      return port
    } catch (cause) {
      if (!isTaken(cause)) throw cause
    }
  }
}
