/**
 * An address that swallows whatever comes: no connection to it comes about, and none is refused. So is one of IPv6 where no
 * IPv6 leads out.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { once } from "node:events"
import { connect } from "node:net"
import { startNode } from "../Process.ts"

/** Listens, and then never again takes a connection from the system. */
const program = (host: string, port: number): string => `
  require("node:net").createServer().listen({ host: "${host}", port: ${port}, backlog: 1 }, () => {
    require("node:fs").writeSync(1, "listening\\n")
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

/** More than the system keeps for a listener that takes none. */
const enough = 8

/** Swallows all that comes to an address and port, until the scope is closed. */
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
