import { assert, describe, it } from "@effect/vitest"
import { routes, description, targetOf } from "../Table.ts"
import { address, call, operatorKey, onServer } from "../TestServer.ts"

/** Every operation of the description, with its path parameters replaced by numbers. */
const operations = Object.entries(description.paths).flatMap(([path, item]) =>
  Object.keys(item).map((name) => [name.toUpperCase(), path.replaceAll(/\{\w+\}/g, "1")] as const)
)

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

describe("the table of routes", () => {
  onServer("answers every method of every path, with its route or with 405 and `Allow`", function* () {
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
  })

  it("has each method of a path and each operation only once", () => {
    const keys = routes.map(({ method, path }) => `${method} ${path}`)
    assert.strictEqual(new Set(keys).size, keys.length)
    const names = routes.flatMap(({ operation }) => operation ?? [])
    assert.strictEqual(new Set(names).size, names.length)
    assert.strictEqual(operations.length, names.length)
  })
})

describe("the description of the surface", () => {
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

  onServer("is published as OpenAPI 3.1", function* () {
    const reply = yield* call("GET", "/openapi.json")
    assert.strictEqual(reply.status, 200)
    assert.strictEqual(reply.headers.get("content-type"), "application/json")
    assert.strictEqual(reply.at("/openapi"), "3.1.0")
    const base = yield* address
    assert.deepStrictEqual(reply.at("/servers"), [{ url: base }])
    assert.strictEqual(reply.at("/components/securitySchemes/bearer/scheme"), "Bearer")
  })
})
