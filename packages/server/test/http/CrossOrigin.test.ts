/**
 * Requests from pages of other origins (CORS). Only allowed origins may call the token, revocation and `/v4` routes. No
 * other origin may call anything, and no origin may call other routes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { httpDefaults, HttpSettings } from "../../src/http/HttpSettings.ts"
import { routes, targetOf } from "../Table.ts"
import { call, document, testServer, onServer } from "../TestServer.ts"

const origin = "https://app.example"

const allowing = testServer().pipe(
  Layer.provide(Layer.succeed(HttpSettings, { ...httpDefaults, browserOrigins: [origin, "http://localhost:5173"] }))
)

const preflight = (target: string, from: string, method = "POST") =>
  call("OPTIONS", target, {
    headers: {
      origin: from,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization, content-type"
    }
  })

const integrations = "/v4/buildings/1/integrations"

describe("a page of another origin", () => {
  it.effect("may do what an API client does, if the operator allows its origin", () =>
    Effect.gen(function* () {
      for (const from of [origin, "http://localhost:5173"]) {
        for (const target of ["/oauth/token", "/oauth/revoke", integrations]) {
          const { headers, status } = yield* preflight(target, from)
          assert.strictEqual(status, 204, target)
          assert.strictEqual(headers.get("access-control-allow-origin"), from)
          assert.include(headers.get("access-control-allow-methods") ?? "", "POST")
          for (const name of ["authorization", "content-type", "idempotency-key", "if-match"]) {
            assert.include(headers.get("access-control-allow-headers") ?? "", name)
          }
          assert.isNull(headers.get("access-control-allow-credentials"))
        }
      }
      const created = yield* call("POST", integrations, { as: "admin", body: document(), headers: { origin } })
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.headers.get("access-control-allow-origin"), origin)
      assert.include(created.headers.get("access-control-expose-headers") ?? "", "etag")
      assert.include(created.headers.get("vary") ?? "", "Origin")
      // The page must be able to read refusals too.
      const refused = yield* call("GET", integrations, { headers: { origin } })
      assert.deepStrictEqual([refused.status, refused.headers.get("access-control-allow-origin")], [401, origin])
      const metadata = yield* call("GET", "/.well-known/oauth-authorization-server", { headers: { origin } })
      assert.strictEqual(metadata.headers.get("access-control-allow-origin"), origin)
    }).pipe(Effect.provide(allowing))
  )

  it.effect("gets no permission if its origin is not allowed", () =>
    Effect.gen(function* () {
      for (const from of ["https://evil.example", "https://app.example.evil.example", "null", "http://app.example"]) {
        const asked = yield* preflight(integrations, from)
        assert.deepStrictEqual([asked.status, asked.headers.get("access-control-allow-origin")], [405, null], from)
        const sent = yield* call("GET", integrations, { as: "admin", headers: { origin: from } })
        assert.deepStrictEqual([sent.status, sent.headers.get("access-control-allow-origin")], [200, null], from)
      }
    }).pipe(Effect.provide(allowing))
  )

  onServer("gets nothing by default", function* () {
    const asked = yield* preflight(integrations, origin)
    assert.deepStrictEqual([asked.status, asked.headers.get("access-control-allow-origin")], [405, null])
    const sent = yield* call("GET", integrations, { as: "admin", headers: { origin } })
    assert.deepStrictEqual(
      [sent.headers.get("access-control-allow-origin"), sent.headers.get("vary")],
      [null, "Accept"]
    )
  })

  it.effect("never reaches pages and operator routes, even if its origin is allowed", () =>
    Effect.gen(function* () {
      const shared = (path: string) =>
        path.startsWith("/v4/") || /^\/oauth\/(?:token|revoke)$/.test(path) || path.startsWith("/.well-known/")
      for (const route of routes.filter(({ path }) => !path.endsWith("*"))) {
        const target = targetOf(route)
        const { headers } = yield* preflight(target, origin, route.method)
        assert.strictEqual(headers.get("access-control-allow-origin"), shared(route.path) ? origin : null, target)
        const sent = yield* call(route.method, target, { headers: { origin } })
        assert.strictEqual(sent.headers.get("access-control-allow-origin"), shared(route.path) ? origin : null, target)
      }
    }).pipe(Effect.provide(allowing))
  )
})
