/**
 * doorhook in an application that is written in Effect, through `doorhook/effect`.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe } from "@effect/vitest"
import * as Doorhook from "doorhook/effect"
import { Effect, Layer, Logger, Tracer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { client, directory, live } from "../harness/Embedded.ts"

const engine = Doorhook.layer({ database: "memory" }, Doorhook.directoryOf(directory))
const server = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })

/** Asks the server of the context. */
const ask = (path: string, init: RequestInit = {}) =>
  HttpServer.addressFormattedWith((url) => Effect.promise(() => fetch(url + path, { redirect: "manual", ...init })))

/** What spans and lines say, the attributes of spans included. */
const recorder = () => {
  const lines: Array<string> = []
  const spans: Array<Tracer.NativeSpan> = []
  const layer = Layer.merge(
    Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))]),
    Layer.succeed(
      Tracer.Tracer,
      Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
    )
  )
  return { layer, lines, spans }
}

describe("in one router", () => {
  live(
    "requests to doorhook leave no spans and no lines behind, and the host's own do",
    Effect.gen(function* () {
      const { layer, lines, spans } = recorder()
      const own = HttpRouter.add("GET", "/own", HttpServerResponse.text("own"))
      const served = HttpRouter.serve(Layer.merge(Doorhook.Routes, own), {
        routerConfig: Doorhook.routerConfig,
        disableListenLog: true
      })
      const listening = yield* Layer.build(
        served.pipe(Layer.provide(engine), Layer.provideMerge(server), Layer.provide(layer))
      )
      yield* Effect.gen(function* () {
        const secret = `client_id=${client.client_id}&client_secret=hush&response_type=code`
        assert.strictEqual((yield* ask(`/oauth/authorize?${secret}`)).status, 400)
        assert.strictEqual((yield* ask("/oauth/revoke?token=hush", { method: "POST" })).status, 401)
        assert.strictEqual((yield* ask("/oauth/nothing?client_secret=hush")).status, 404)
        assert.deepStrictEqual([spans, lines], [[], []])
        assert.strictEqual((yield* ask("/own?page=2")).status, 200)
        assert.deepStrictEqual(
          spans.map(({ attributes }) => attributes.get("url.path")),
          ["/own"]
        )
      }).pipe(Effect.provideContext(listening))
    })
  )
})
