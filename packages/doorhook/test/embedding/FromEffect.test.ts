/**
 * doorhook in an Effect application, through `doorhook/effect`.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { DeliveryStore, MemoryStore, Publisher, Transport } from "@doorhook/core"
import type { TransportRequest } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { keptSpans } from "@doorhook/testkit/KeptSpans"
import { temporaryFolder } from "@doorhook/testkit/Process"
import * as Doorhook from "doorhook/effect"
import { Effect, Layer, Logger, Option, Schema } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { readdirSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { client, directory, event, integrate, live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { callApi } from "../harness/ThirdParty.ts"

const engine = Doorhook.layer({ database: "memory", trustedProxies: ["127.0.0.0/8"] }, Doorhook.directoryOf(directory))
const server = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })

/** Sends a request to the `HttpServer` in the context. */
const ask = (path: string, init: RequestInit = {}) =>
  HttpServer.addressFormattedWith((url) => Effect.promise(() => fetch(url + path, { redirect: "manual", ...init })))

/** Returns a layer that records log lines and spans. */
const recorder = () => {
  const lines: Array<string> = []
  const { layer: tracer, spans } = keptSpans()
  const layer = Layer.merge(
    Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))]),
    tracer
  )
  return { layer, lines, spans }
}

/** An error of the host that defines its own response. */
class Teapot extends Schema.TaggedError<Teapot>()("Teapot", {}) {
  [HttpServerRespondable.symbol]() {
    return Effect.succeed(HttpServerResponse.text("I am a teapot", { status: 418 }))
  }
}

/** The host's own routes, one of each kind that doorhook might interfere with. */
const ownRoutes = Layer.mergeAll(
  HttpRouter.add("GET", "/own", HttpServerResponse.text("own")),
  HttpRouter.add("GET", "/teapot", Effect.fail(new Teapot())),
  HttpRouter.add("GET", "/defect", Effect.die(new Error("their bug"))),
  HttpRouter.add(
    "POST",
    "/json",
    Effect.flatMap(HttpServerRequest.schemaBodyJson(Schema.Struct({ a: Schema.Finite })), (body) =>
      HttpServerResponse.json(body)
    )
  ),
  HttpRouter.add(
    "GET",
    "/address",
    Effect.map(HttpServerRequest.HttpServerRequest, ({ remoteAddress }) =>
      HttpServerResponse.text(Option.getOrElse(remoteAddress, () => "nobody's"))
    )
  ),
  HttpRouter.add("GET", "/files/*", HttpServerResponse.text("a file"))
)

const ownRequests: ReadonlyArray<readonly [path: string, init?: RequestInit]> = [
  ["/own"],
  ["/own", { method: "PUT" }],
  ["/teapot"],
  ["/defect"],
  ["/json", { method: "POST", body: '{"a":"x"}', headers: { "content-type": "application/json" } }],
  ["/address", { headers: { "x-forwarded-for": "192.0.2.7" } }],
  ["/files/%61%20b.pdf"],
  ["/files/x;v=1"],
  ["/nothing"],
  ["/"]
]

/** Returns the responses to a host's requests, and their log lines. */
const answersOf = <E, R>(served: Layer.Layer<never, E, R | HttpServer.HttpServer>, requests = ownRequests) => {
  const { layer, lines } = recorder()
  return Effect.gen(function* () {
    const answers = yield* Effect.forEach(requests, ([path, init]) =>
      Effect.flatMap(ask(path, init), (response) =>
        Effect.promise(async () => {
          const headers = [...response.headers].filter(([name]) => name !== "date")
          return [path, response.status, headers, await response.text()] as const
        })
      )
    )
    return { answers, lines }
  }).pipe(Effect.provide(served.pipe(Layer.provideMerge(server), Layer.provide(layer))))
}

describe("in one router", () => {
  live("all other requests are answered and logged as without doorhook", function* () {
    const config = { routerConfig: Doorhook.routerConfig, disableListenLog: true }
    const shared = HttpRouter.serve(Layer.merge(Doorhook.Routes, ownRoutes), config).pipe(Layer.provide(engine))
    const alone = yield* answersOf(HttpRouter.serve(ownRoutes, config))
    assert.deepStrictEqual(yield* answersOf(shared), alone)
    assert.deepStrictEqual(
      alone.answers.map(([, status]) => status),
      [200, 404, 418, 500, 400, 200, 200, 200, 404, 404]
    )
  })

  live("doorhook's routes work under a prefix only if the public URL has its path", function* () {
    const prefixed = Layer.effect(
      HttpRouter.HttpRouter,
      Effect.map(HttpRouter.HttpRouter, (router) => router.prefixed("/doors"))
    )
    const routes = Doorhook.Routes.pipe(Layer.provide(prefixed))
    const served = (publicUrl: string) =>
      HttpRouter.serve(Layer.merge(routes, ownRoutes), { disableListenLog: true }).pipe(
        Layer.provide(Doorhook.layer({ database: "memory", publicUrl }, Doorhook.directoryOf(directory)))
      )
    const requests = [["/doors/health/live"], ["/health/live"], ["/own"]] as const
    const seen = yield* answersOf(served("https://house.example/doors"), requests)
    assert.deepStrictEqual(
      seen.answers.map(([, status]) => status),
      [200, 404, 200]
    )
    assert.isTrue(seen.answers[0]?.[2].some(([name]) => name === "x-request-id"))
    // effect/http logs only the request to the host's own route.
    assert.lengthOf(seen.lines, 1)
    const untold = yield* answersOf(served("https://house.example"), requests)
    assert.deepStrictEqual(
      untold.answers.map(([, status]) => status),
      [404, 404, 200]
    )
  })

  live("no other spelling of a path reaches doorhook's routes past the host's guards", function* () {
    const config = { disableListenLog: true, routerConfig: { caseSensitive: false, ignoreDuplicateSlashes: true } }
    const served = HttpRouter.serve(Doorhook.Routes, config).pipe(Layer.provide(engine))
    const { answers } = yield* answersOf(served, [
      ["/health/live"],
      ["/%68ealth/live"],
      ["/Health/live"],
      ["//health/live"],
      ["/health/%6cive"]
    ])
    assert.deepStrictEqual(
      answers.map(([, status]) => status),
      [200, 404, 404, 404, 404]
    )
  })

  live("only the host's own requests leave spans and log lines", function* () {
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
})

/** The application's own transport, which counts requests and returns configured answers. */
const transportThat = (answers: (nth: number) => number) => {
  const sent: Array<TransportRequest> = []
  const layer = Layer.effect(
    Transport,
    Transport.fromPost((request) =>
      Effect.sync(() => {
        const status = answers(sent.push(request))
        return { _tag: "Answered", status, retry_after: null, excerpt: "", headers_elapsed: 1, elapsed: 1 }
      })
    )
  )
  return { layer, sent }
}

const anybody = Doorhook.directoryOf({ ...directory, administers: () => true })

const publishOne = Publisher.publishValue(event)

const stateOf = Effect.flatMap(DeliveryStore, (store) =>
  Effect.map(store.list({ limit: 10 }), (all) => all.map(({ state }) => state))
)

describe("declared resource types", () => {
  live("apply to doorhook's routes, and to the host's routes that publish", function* () {
    const settings = { database: "memory", operatorKey, resourceTypes: { door_forced: {} } }
    const publishHere = Effect.gen(function* () {
      const forced = yield* HttpServerRequest.schemaBodyJson(Schema.Unknown)
      return yield* HttpServerResponse.json(yield* Publisher.publishValue(forced))
    })
    const served = HttpRouter.serve(Layer.merge(Doorhook.Routes, HttpRouter.add("POST", "/forced", publishHere)), {
      routerConfig: Doorhook.routerConfig,
      disableListenLog: true
    }).pipe(Layer.provide(Doorhook.layer(settings, anybody)), Layer.provideMerge(server))
    const statuses = yield* Effect.gen(function* () {
      const body = JSON.stringify({ ...event, resource_type: "door_forced" })
      const json = { "content-type": "application/json" }
      const headers = { ...json, authorization: `Bearer ${operatorKey}` }
      const own = yield* ask("/forced", { method: "POST", body, headers: json })
      const operated = yield* ask("/operator/events", { method: "POST", body, headers })
      const listed = yield* ask("/v4/buildings/1/door_forced")
      return [own.status, operated.status, listed.status]
    }).pipe(Effect.provide(served))
    assert.deepStrictEqual(statuses, [200, 202, 401])
  })
})

describe("ports of the application's own", () => {
  it.effect("a transport sends requests, on the test clock", () => {
    const { layer, sent } = transportThat((nth) => (nth === 1 ? 503 : 200))
    return Effect.gen(function* () {
      yield* StoreFixtures.createIntegration()
      yield* publishOne
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* stateOf, ["retrying"])
      yield* TestClock.adjust("6 seconds")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* stateOf, ["delivered"])
      assert.lengthOf(sent, 2)
      // Without another event, the test would not end, because the test clock does not move.
      yield* publishOne
    }).pipe(Effect.provide(Doorhook.layer({ database: "memory" }, anybody, layer)))
  })

  live("stores keep data from HTTP, and no file is created", function* () {
    const folder = yield* temporaryFolder
    const file = join(folder, "doorhook.db")
    const { layer, sent } = transportThat(() => 200)
    const stores = yield* Layer.build(Layer.fresh(MemoryStore.layer))
    const own = Doorhook.layer(
      { database: file, operatorKey, allowTargets: ["127.0.0.0/8"] },
      Doorhook.directoryOf(directory),
      Layer.merge(layer, Layer.succeedContext(stores))
    )
    const served = HttpRouter.serve(Doorhook.Routes, { routerConfig: Doorhook.routerConfig, disableListenLog: true })
    const listening = yield* Layer.build(served.pipe(Layer.provide(own), Layer.provideMerge(server)))
    const url = yield* HttpServer.addressFormattedWith(Effect.succeed).pipe(Effect.provideContext(listening))
    yield* integrate(url, "http://127.0.0.1:1/hook")
    const answer = yield* Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", event))
    assert.strictEqual(answer.status, 202)
    yield* eventually("it is delivered", Effect.provideContext(stateOf, stores), ([state]) => state === "delivered")
    assert.strictEqual(sent[0]?.url, "http://127.0.0.1:1/hook")
    assert.deepStrictEqual(readdirSync(folder), [])
  })

  live("cause no warning without an encryptionKey, unlike doorhook's own database", function* () {
    const file = join(yield* temporaryFolder, "doorhook.db")
    const warnings = Effect.fnUntraced(function* (ports: Layer.Layer<never> | typeof MemoryStore.layer) {
      const { layer, lines } = recorder()
      const own = Doorhook.layer({ database: file, operatorKey }, Doorhook.directoryOf(directory), ports)
      yield* Effect.scoped(Layer.build(own.pipe(Layer.provide(layer))))
      return lines.filter((line) => line.includes("encryptionKey: not set")).length
    })
    assert.strictEqual(yield* warnings(Layer.empty), 1)
    assert.strictEqual(yield* warnings(Layer.fresh(MemoryStore.layer)), 0)
  })

  live("replacing only some of the stores is refused", function* () {
    const part = Layer.effect(DeliveryStore, DeliveryStore).pipe(Layer.provide(MemoryStore.layer))
    const exit = yield* Layer.build(Doorhook.layer({ database: "memory" }, Doorhook.directoryOf(directory), part)).pipe(
      Effect.flip
    )
    assert.strictEqual(
      exit.message,
      "ports: replace all stores or none; missing are IntegrationStore, IdempotencyStore, TokenStore, ClientStore, SettingStore"
    )
  })
})

describe("spans of what doorhook does", () => {
  for (const [chosen, expected] of [
    [undefined, ["doorhook.publish"]],
    [true, ["doorhook.publish"]],
    [false, []]
  ] as const) {
    it.effect(`are recorded as the application chooses: ${chosen ?? "nothing"}`, () => {
      const { layer, spans } = recorder()
      const choice = chosen === undefined ? Layer.empty : Layer.succeed(Doorhook.Tracing, chosen)
      return publishOne.pipe(
        Effect.andThen(
          Effect.sync(() =>
            assert.deepStrictEqual(
              spans.map(({ name }) => name),
              [...expected]
            )
          )
        ),
        Effect.provide(engine.pipe(Layer.provide(choice))),
        Effect.provide(layer)
      )
    })
  }
})
