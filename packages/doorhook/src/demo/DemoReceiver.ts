/**
 * A receiver to deliver to: it takes a believable while, and now and then it has a bad moment, so that retries show.
 */
import { Context, Effect, Layer, Random } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { createServer } from "node:http"

/** How often it answers 503 instead of 200. */
const badMoments = 0.01

/** Milliseconds it takes, at least and at most. */
const slowness = [3, 40] as const

const receive = Effect.gen(function* () {
  const [fastest, slowest] = slowness
  yield* Effect.sleep(yield* Random.nextBetween(fastest, slowest))
  const bad = (yield* Random.next) < badMoments
  return HttpServerResponse.empty({ status: bad ? 503 : 200 })
})

export class DemoReceiver extends Context.Service<DemoReceiver, { readonly url: string }>()(
  "doorhook/demo/DemoReceiver"
) {
  /** On a free port of this machine. */
  static readonly layer = Layer.effect(
    DemoReceiver,
    HttpServer.addressFormattedWith((url) => Effect.succeed({ url: `${url}/hook` }))
  ).pipe(
    Layer.provideMerge(
      HttpRouter.serve(HttpRouter.add("POST", "/hook", receive), { disableLogger: true, disableListenLog: true })
    ),
    Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: 100 })),
    Layer.fresh,
    Layer.orDie
  )
}
