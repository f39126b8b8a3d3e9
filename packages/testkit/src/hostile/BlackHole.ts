/**
 * An address that drops everything: connections to it are neither established nor refused, as with an IPv6 address on a
 * machine without an IPv6 route.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { connect } from "node:net"
import { startNode } from "../Process.ts"

/** Returns a program that listens but never accepts a connection. */
const program = (host: string, port: number): string => `
  require("node:net").createServer().listen({ host: "${host}", port: ${port}, backlog: 1 }, () => {
    require("node:fs").writeSync(1, "listening\\n")
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

/** Number of connections that fill the listener's backlog. */
const enough = 8

/** Makes an address and port drop everything until the scope is closed. */
export const blackHole = Effect.fnUntraced(function* (
  host: string,
  port: number
): Effect.fn.Return<void, never, Scope.Scope> {
  const { printed } = yield* startNode(["-e", program(host, port)])
  yield* Effect.promise(() => printed(/listening/))
  const sockets = yield* Effect.acquireRelease(
    Effect.sync(() => Array.from({ length: enough }, () => connect({ host, port }).on("error", () => undefined))),
    (all) => Effect.sync(() => all.forEach((socket) => socket.destroy()))
  )
  const [first] = sockets
  if (first !== undefined) yield* Effect.promise(() => once(first, "connect"))
})
