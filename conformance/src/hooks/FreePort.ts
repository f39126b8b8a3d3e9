/**
 * A port for a receiver that the suite starts.
 */
import { Effect } from "effect"
import { createServer } from "node:net"

/** A port of this machine at which nobody listens just now. */
export const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const server = createServer()
  server.listen(0, () => {
    const address = server.address()
    const port = address !== null && typeof address === "object" ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})
