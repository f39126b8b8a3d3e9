import { BuildingId } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Predicate } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpServer } from "effect/http"
import { HttpApiClient, HttpApiMiddleware, OpenApi } from "effect/http-api"
import { BearerAuthorization } from "../../src/contract/JsonApi.ts"
import { PublicApi } from "../../src/contract/PublicApi.ts"
import { IpNetwork } from "effect/net"
import { call, document, operatorKey, testServer } from "../TestServer.ts"

const methods = new Set(["get", "post", "put", "patch", "delete"])

/** Every operation of the contract, with numbers for path parameters. */
const operations = Object.entries(OpenApi.fromApi(PublicApi).paths).flatMap(([path, item]) =>
  Object.keys(item)
    .filter((name) => methods.has(name))
    .map((name) => [name.toUpperCase(), path.replaceAll(/\{\w+\}/g, "1")] as const)
)

const webhookSources = [IpNetwork.fromStringUnsafe("203.0.113.7/32")]

const asAdmin = HttpApiMiddleware.layerClient(BearerAuthorization, ({ next, request }) =>
  next(HttpClientRequest.bearerToken(request, "admin"))
)

describe("the contract", () => {
  it.effect("has no operation that the server does not have", () =>
    Effect.gen(function* () {
      assert.isAtLeast(operations.length, 29)
      for (const [method, path] of operations) {
        const { status, text } = yield* call(method, path, method === "GET" ? {} : { body: {} })
        assert.notInclude([404, 405, 500, 501], status, `${method} ${path}: ${text}`)
      }
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("has every status that its integration operations are seen to answer with", () =>
    Effect.gen(function* () {
      const { paths } = OpenApi.fromApi(PublicApi)
      const collection = "/v4/buildings/{building_id}/integrations"
      const item = `${collection}/{id}`
      const rotation = `${item}/rotate_secret`
      const feed = `${item}/deliveries`
      const created = yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
      const one = `/v4/buildings/1/integrations/${created.textAt("/data/id")}`
      const plain = { "content-type": "text/plain" }
      const stale = { "if-match": '"0"' }
      const asked = [
        [collection, "post", { as: "admin", body: document() }],
        [collection, "post", { as: "admin", body: { data: { ...document().data, id: "1" } } }],
        [collection, "post", { as: "admin", body: { data: { type: "x" } } }],
        [collection, "post", { as: "admin", body: {} }],
        [collection, "post", { as: "admin", body: "{" }],
        [collection, "post", { as: "admin", body: "x", headers: plain }],
        [collection, "post", { as: "admin", body: "x".repeat(100_000) }],
        [collection, "post", {}],
        [collection, "post", { as: "other", body: document() }],
        [collection, "get", { as: "admin" }],
        [collection, "get", { as: "admin", headers: { accept: "text/html" } }],
        [item, "get", { as: "admin" }],
        [item, "put", { as: "admin", body: document() }],
        [item, "put", { as: "admin", body: document(), headers: stale }],
        [item, "patch", { as: "admin", body: { data: { type: "x" } } }],
        [rotation, "post", { as: "admin" }],
        [rotation, "post", { as: "admin", headers: stale }],
        [rotation, "post", { as: "other" }],
        [feed, "get", { as: "admin" }],
        [feed, "get", {}],
        ["/v4/buildings", "get", { as: "admin" }],
        ["/v4/buildings", "get", {}],
        ["/v4/buildings/{building_id}", "get", { as: "other" }],
        ["/v4/tenants", "get", { as: "admin", headers: { accept: "text/html" } }],
        ["/v4/buildings/{building_id}/access_logs", "get", { as: "admin" }],
        ["/v4/buildings/{building_id}/calls", "get", { as: "other" }],
        ["/v4/tenants/{tenant_id}/access_logs", "get", { as: "admin" }],
        ["/v4/tenants/{tenant_id}/calls", "get", {}],
        ["/oauth/token", "post", { body: {} }],
        ["/oauth/token", "post", { body: "x", headers: plain }],
        ["/oauth/authorize", "get", {}],
        ["/v4/webhook_sources", "get", {}],
        ["/v4/webhook_sources", "get", { headers: { accept: "text/html" } }],
        [collection, "post", { as: "admin", body: document(), headers: { "idempotency-key": "a b" } }],
        [item, "delete", { as: "admin", headers: stale }],
        [item, "delete", { as: "admin" }]
      ] as const
      for (const [path, method, init] of asked) {
        const target = path.replace(item, one).replace(/\{\w+\}/, "1")
        const { status } = yield* call(method.toUpperCase(), target, init)
        assert.property(paths[path]?.[method]?.responses, String(status), `${method} ${path}`)
      }
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("gives a typed client that the server understands", () =>
    Effect.gen(function* () {
      const baseUrl = yield* HttpServer.addressFormattedWith(Effect.succeed)
      const client = yield* HttpApiClient.make(PublicApi, { baseUrl })
      const params = { building_id: BuildingId.make(1) }
      const payload = {
        data: {
          type: "integrations" as const,
          attributes: {
            integrator: "webhook" as const,
            configuration: { url: "https://receiver.example/", method: "post" as const },
            bindings: [{ resource_type: "call" as const, actions: ["create" as const] }]
          }
        }
      }
      const created = yield* client["building integrations"].create({ params, headers: {}, payload })
      assert.match(created.meta?.signing_secret ?? "", /^whsec_/)
      const one = { params: { ...params, id: created.data.id } }
      assert.deepStrictEqual((yield* client["building integrations"].get(one)).data, created.data)
      const list = yield* client["building integrations"].list({ params, query: { "page[size]": 10 } })
      assert.strictEqual(list.meta.page_info.page_size, 10)
      const rotated = yield* client["building integrations"].rotateSecret({ ...one, headers: {} })
      assert.notStrictEqual(rotated.meta.signing_secret, created.meta?.signing_secret)
      yield* call("POST", "/operator/events", {
        as: operatorKey,
        body: { resource_type: "call", action: "create", building_id: 1, data: { id: 1 } }
      })
      const feed = yield* client["building integrations"].deliveries({ ...one, query: {} })
      assert.deepStrictEqual(
        feed.data.map(({ attributes }) => attributes.event),
        [{ resource_type: "call", action: "create", data: { id: 1 } }]
      )
      const { data: buildings, meta } = yield* client.buildings.list({ query: { per: 5 } })
      assert.deepStrictEqual(
        buildings.map(({ attributes, id }) => [id, attributes.time_zone, attributes.access_points.length]),
        [["1", "Europe/Berlin", 1]]
      )
      assert.strictEqual(meta.page_info.page_size, 5)
      const building = yield* client.buildings.get({ params: { building_id: BuildingId.make(1) } })
      assert.deepStrictEqual(building.data, buildings[0])
      const calls = yield* client.buildings.calls({ params, query: {} })
      assert.deepStrictEqual(
        calls.data.map(({ attributes, id, type }) => [type, id, attributes]),
        [["calls", "1", { id: 1 }]]
      )
      assert.deepStrictEqual((yield* client.buildings.accessLogs({ params, query: { page: 1 } })).data, [])
      assert.deepStrictEqual((yield* client.tenants.list({ query: { scope: "self" } })).data, [])
      assert.deepStrictEqual(yield* client["webhook sources"].list(), {
        data: [{ type: "webhook_sources", id: "203.0.113.7/32", attributes: { cidr: "203.0.113.7/32" } }]
      })
      const off = { data: { type: "integrations" as const, attributes: { status: "disabled" as const } } }
      const changed = yield* client["building integrations"].patch({ ...one, headers: {}, payload: off })
      assert.strictEqual(changed.data.attributes.status, "disabled")
      yield* client["building integrations"].remove({ ...one, headers: {} })
      const gone = yield* Effect.flip(client["building integrations"].get(one))
      assert.isTrue(Predicate.hasProperty(gone, "errors"))
    }).pipe(
      Effect.provide(Layer.mergeAll(testServer({ api: { webhookSources } }), FetchHttpClient.layer, asAdmin)),
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )
  )

  it("names each schema once", () => {
    const { components } = OpenApi.fromApi(PublicApi)
    const names = Object.keys(components.schemas)
    assert.includeMembers(names, [
      "Errors",
      "Integration",
      "DeliveryFeed",
      "OAuthError",
      "Building",
      "Tenant",
      "AccessLogList",
      "CallList"
    ])
    assert.deepStrictEqual(
      names.filter((name) => /_\d+$/.test(name)),
      []
    )
    const text = JSON.stringify(OpenApi.fromApi(PublicApi))
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) assert.include(names, name)
  })

  it.effect("is published as OpenAPI 3.1", () =>
    Effect.gen(function* () {
      const reply = yield* call("GET", "/openapi.json")
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.headers.get("content-type"), "application/json")
      assert.strictEqual(reply.at("/openapi"), "3.1.0")
      const base = yield* HttpServer.addressFormattedWith(Effect.succeed)
      assert.deepStrictEqual(reply.at("/servers"), [{ url: base }])
      assert.strictEqual(reply.at("/components/securitySchemes/bearer/scheme"), "Bearer")
    }).pipe(Effect.provide(testServer()))
  )
})
