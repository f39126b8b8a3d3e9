import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, Controls, document, testServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

describe("failures inside", () => {
  for (const [fault, status, code] of [
    ["store", 503, "unavailable"],
    ["directory", 503, "unavailable"],
    ["defect", 500, "internal_error"]
  ] as const) {
    it.effect(`of kind ${fault} are answered with ${status} and without their cause`, () =>
      Effect.gen(function* () {
        const controls = yield* Controls
        const created = yield* call("POST", path, { as: "admin", body: document() })
        controls.fault = fault
        const reply = yield* call("GET", `${path}/${created.textAt("/data/id")}`, { as: "admin" })
        assert.strictEqual(reply.status, status)
        assert.strictEqual(reply.at("/errors/0/code"), code)
        assert.strictEqual(reply.at("/errors/0/id"), reply.headers.get("x-request-id"))
        assert.notMatch(reply.text, /hunter2|IntegrationStore|at .*\.ts/)
        controls.fault = "none"
        assert.strictEqual((yield* call("GET", path, { as: "admin" })).status, 200)
      }).pipe(Effect.provide(testServer()))
    )
  }
})

describe("request ids", () => {
  it.effect("are on every answer: the caller's if it is harmless, a new one otherwise", () =>
    Effect.gen(function* () {
      const seen = new Set<string | null>()
      for (const target of [path, "/v4/nothing", "/nothing", "/health/live", "/operator/events", "/oauth/token"]) {
        const reply = yield* call("GET", target)
        assert.match(reply.headers.get("x-request-id") ?? "", /^req_[0-9a-z]{10,}$/, target)
        seen.add(reply.headers.get("x-request-id"))
      }
      assert.strictEqual(seen.size, 6)
      const own = yield* call("GET", path, { headers: { "x-request-id": "abc-123" } })
      assert.strictEqual(own.headers.get("x-request-id"), "abc-123")
      assert.strictEqual(own.at("/errors/0/id"), "abc-123")
      for (const bad of ["a b", "x".repeat(129), "<script>"]) {
        const reply = yield* call("GET", path, { headers: { "x-request-id": bad } })
        assert.match(reply.headers.get("x-request-id") ?? "", /^req_/)
      }
    }).pipe(Effect.provide(testServer()))
  )
})

describe("unknown addresses", () => {
  it.effect("are answered with a JSON 404", () =>
    Effect.gen(function* () {
      for (const [target, type] of [
        ["/v4/nothing", "application/vnd.api+json"],
        ["/nothing", "application/json"],
        ["/", "application/json"]
      ] as const) {
        const reply = yield* call("GET", target)
        assert.strictEqual(reply.status, 404, target)
        assert.strictEqual(reply.headers.get("content-type"), type, target)
        assert.strictEqual(reply.at("/errors/0/code"), "not_found")
      }
    }).pipe(Effect.provide(testServer()))
  )
})
