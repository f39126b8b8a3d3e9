/**
 * Servers of tests: on a port that is free, and closed with all of their connections.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"
import type { Server, Socket } from "node:net"

/** A server that listens, where, and how it ends. */
export interface ListeningServer {
  readonly port: number
  /** `http://127.0.0.1:PORT`; who speaks something else replaces the scheme. */
  readonly url: string
  /** Ends the server and every connection, as a process that dies does; resolves when it has ended. */
  readonly close: () => Promise<void>
}

/** The port that a server listens on; 0 while it does not. */
export const portOf = (server: Server): number => {
  const address = server.address()
  return address !== null && typeof address === "object" ? address.port : 0
}

/** Lets a server listen on loopback, on a free port unless told otherwise. */
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

/** Lets a server listen for as long as the scope lives. */
export const listening = (server: Server): Effect.Effect<ListeningServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => listen(server)),
    ({ close }) => Effect.promise(close)
  )

const isTaken = (cause: unknown): boolean => Reflect.get(Object(cause), "code") === "EADDRINUSE"

/** A port that nobody listens on now. It is none of those that systems hand out, so that nobody gets it by chance meanwhile. */
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
