import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { routes, description, targetOf } from "../Table.ts"
import { address, call, document, operatorKey, testServer } from "../TestServer.ts"

/** Every operation of the description, with its path parameters replaced by numbers. */
const operations = Object.entries(description.paths).flatMap(([path, item]) =>
  Object.keys(item).map((name) => [name.toUpperCase(), path.replaceAll(/\{\w+\}/g, "1")] as const)
)

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

describe("the table of routes", () => {
  it.effect("answers every method of every path, with its route or with 405 and `Allow`", () =>
    Effect.gen(function* () {
      for (const path of new Set(routes.map((route) => route.path))) {
        const served = routes.filter((route) => route.path === path).map((route) => route.method)
        const allowed = served.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
        const target = targetOf({ path })
        for (const method of methods) {
          const init = method === "GET" || method === "HEAD" ? {} : { body: {} }
          const { headers, status, text } = yield* call(method, target, { as: operatorKey, ...init })
          const what = `${method} ${target}: ${status} ${text}`
          if (allowed.includes(method)) assert.notInclude([405, 500, 501], status, what)
          // This address may not exist under a wildcard path, and then answers 404.
          else if (!path.endsWith("*"))
            assert.deepStrictEqual([status, headers.get("allow")], [405, allowed.join(", ")], what)
        }
      }
    }).pipe(Effect.provide(testServer()))
  )

  it("has each method of a path and each operation only once", () => {
    const keys = routes.map(({ method, path }) => `${method} ${path}`)
    assert.strictEqual(new Set(keys).size, keys.length)
    const names = routes.flatMap(({ operation }) => operation ?? [])
    assert.strictEqual(new Set(names).size, names.length)
    assert.strictEqual(operations.length, names.length)
  })
})

describe("the description of the surface", () => {
  it.effect("has only operations of the server", () =>
    Effect.gen(function* () {
      assert.isAtLeast(operations.length, 29)
      for (const [method, path] of operations) {
        const { status, text } = yield* call(method, path, method === "GET" ? {} : { body: {} })
        assert.notInclude([404, 405, 500, 501], status, `${method} ${path}: ${text}`)
      }
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("has every status that integration operations return", () =>
    Effect.gen(function* () {
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
        ["/v4/webhook_keys", "get", {}],
        ["/v4/webhook_sources", "get", { headers: { accept: "text/html" } }],
        [collection, "post", { as: "admin", body: document(), headers: { "idempotency-key": "a b" } }],
        [item, "delete", { as: "admin", headers: stale }],
        [item, "delete", { as: "admin" }]
      ] as const
      for (const [path, method, init] of asked) {
        const target = path.replace(item, one).replace(/\{\w+\}/, "1")
        const { status } = yield* call(method.toUpperCase(), target, init)
        assert.property(description.paths[path]?.[method]?.["responses"], String(status), `${method} ${path}`)
      }
    }).pipe(Effect.provide(testServer()))
  )

  it("names each schema once", () => {
    const names = Object.keys(description.components.schemas)
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
    const text = JSON.stringify(description)
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) assert.include(names, name)
  })

  it.effect("is published as OpenAPI 3.1", () =>
    Effect.gen(function* () {
      const reply = yield* call("GET", "/openapi.json")
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.headers.get("content-type"), "application/json")
      assert.strictEqual(reply.at("/openapi"), "3.1.0")
      const base = yield* address
      assert.deepStrictEqual(reply.at("/servers"), [{ url: base }])
      assert.strictEqual(reply.at("/components/securitySchemes/bearer/scheme"), "Bearer")
    }).pipe(Effect.provide(testServer()))
  )
})
