/**
 * How exactly this machine can time an answer just now.
 *
 * The suite times an echo in its own process: whatever that takes is the suite's doing, not the receiver's. Three times
 * its 99th percentile, and at least 50 ms, is the guard: a receiver is late only when it is late by more than that.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { Server } from "node:http"
import { open } from "./Connection.ts"

const leastGuard = 50
const warmUp = 10
const rounds = 100
const patience = 2_000

/** An HTTP server that answers 200 as soon as it has the body. */
const echo: Effect.Effect<Server, never, Scope.Scope> = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer((request, response) => {
      request.resume().once("end", () => response.end("ok"))
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)).closeAllConnections())
)

/** The value that 99 % of the others do not exceed. */
export const percentile99 = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0
}

/** The guard band that follows from some timings, in whole milliseconds. */
export const guardOf = (timings: ReadonlyArray<number>): number =>
  Math.max(leastGuard, Math.ceil(3 * percentile99(timings)))

/** The guard band and the timing it follows from, in milliseconds. */
export interface Guard {
  readonly guard: number
  readonly echo: number
}

/** Measures the guard band. */
export const measureGuard: Effect.Effect<Guard> = Effect.scoped(
  Effect.gen(function* () {
    const address = (yield* echo).address()
    if (address === null || typeof address === "string") {
      return { guard: leastGuard, echo: 0 }
    }
    const connection = yield* open(new URL(`http://127.0.0.1:${address.port}/`))
    const timings: Array<number> = []
    for (let round = 0; round < warmUp + rounds; round++) {
      const { exchange } = yield* connection.post(
        { method: "POST", headers: { "content-type": "application/json" }, body: "{}", encoding: "utf8" },
        patience
      )
      if (round >= warmUp) timings.push(exchange.elapsed)
    }
    return { guard: guardOf(timings), echo: percentile99(timings) }
  })
)
