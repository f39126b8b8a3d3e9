/**
 * A port for a receiver that the suite starts, and starts again after it was killed.
 */
import { Effect } from "effect"
import { randomInt } from "node:crypto"
import { createServer } from "node:net"

/** None of the ports that systems hand out to connections, which might get it while the receiver is down. */
const range = { from: 10_100, to: 30_000 }
/** The most ports that are tried, before any that is free is taken. */
const mostTries = 100

const isFree = (port: number): Effect.Effect<number | null> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(null)))
    server.listen(port, () => {
      const address = server.address()
      const given = address !== null && typeof address === "object" ? address.port : null
      server.close(() => resume(Effect.succeed(given)))
    })
  })

/** A port of this machine at which nobody listens just now. */
export const freePort: Effect.Effect<number> = Effect.gen(function* () {
  for (let tries = 0; tries < mostTries; tries++) {
    const port = yield* isFree(randomInt(range.from, range.to))
    if (port !== null) return port
  }
  return (yield* isFree(0)) ?? 0
})
