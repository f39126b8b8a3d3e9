/**
 * The demo's receiver. It answers after a realistic delay, and sometimes with 503 to show retries.
 */
import { Context, Effect, Layer } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"

/** Fraction of requests that get 503 instead of 200. */
const badMoments = 0.01

/** Minimum and maximum delay, in milliseconds. */
const slowness = [3, 40] as const

const receive = (request: IncomingMessage, response: ServerResponse): void => {
  const [fastest, slowest] = slowness
  // An unread body would block the next request on the connection.
  request.resume()
  response.statusCode = Math.random() < badMoments ? 503 : 200
  setTimeout(() => response.end(), fastest + Math.random() * (slowest - fastest))
}

const listening = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer(receive)
    await once(server.listen(0, "127.0.0.1"), "listening")
    return server
  }),
  (server) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

export class DemoReceiver extends Context.Service<DemoReceiver, { readonly url: string }>()(
  "doorhook/demo/DemoReceiver"
) {
  /** Listens on a free port of this machine. */
  static readonly layer = Layer.effect(
    DemoReceiver,
    Effect.map(listening, (server) => {
      const address = server.address()
      const port = address !== null && typeof address === "object" ? address.port : 0
      return { url: `http://127.0.0.1:${port}/hook` }
    })
  )
}
