import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Tracer } from "effect"
import { PublicUrl } from "../src/http/PublicUrl.ts"
import { HttpSurface } from "../src/http/HttpSurface.ts"
import { serve, surface } from "../src/Server.ts"
import { call, listener, services } from "./TestServer.ts"

/** Collects the log lines and spans of a request. */
const recorder = () => {
  const written: Array<string> = []
  const logger = Logger.make(({ message }) => written.push(JSON.stringify(message)))
  const tracer = Tracer.make({
    span: (options) => {
      written.push(options.name)
      return new Tracer.NativeSpan(options)
    }
  })
  const layer = Layer.merge(Logger.layer([logger]), Layer.succeed(Tracer.Tracer, tracer))
  return { written, layer }
}

const target = "/oauth/authorize?client_id=c1&client_secret=hush&response_type=code"

it.effect("requests leave no log lines and no spans on a server", () => {
  const { written, layer } = recorder()
  const server = serve.pipe(
    Layer.provide(PublicUrl.layerListening),
    Layer.provide(services()),
    Layer.provideMerge(listener),
    Layer.provide(layer),
    Layer.fresh
  )
  return Effect.gen(function* () {
    yield* call("GET", target)
    yield* call("GET", "/nothing?client_secret=hush")
    assert.deepStrictEqual(written, [])
  }).pipe(Effect.provide(server))
})

it.effect("requests leave no log lines and no spans with a fetch handler", () => {
  const { written, layer } = recorder()
  return Effect.gen(function* () {
    const own = Layer.merge(services(), PublicUrl.layer("https://doors.example").pipe(Layer.orDie))
    const built = yield* Layer.build(surface.pipe(Layer.provide(own), Layer.provide(layer)))
    const { fetch } = Context.get(built, HttpSurface)
    yield* Effect.promise(() => fetch(new Request(`https://doors.example${target}`), null))
    assert.deepStrictEqual(written, [])
  })
})
