import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { call, Controls, document, testServer, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

describe("internal failures", () => {
  for (const [fault, status, code, said] of [
    ["store", 503, "unavailable", "storage does not work now"],
    ["disk_full", 503, "unavailable", "disk of the service's storage is full"],
    ["unreadable", 503, "unavailable", "trying again does not help"],
    ["directory", 503, "unavailable", "cannot reach the directory of users"],
    ["defect", 500, "internal_error", "Something went wrong"]
  ] as const) {
    onServer(
      `of kind ${fault} are answered with ${status} and their kind, but without internal messages`,
      function* () {
        const controls = yield* Controls
        const created = yield* call("POST", path, { as: "admin", body: document() })
        controls.fault = fault
        const reply = yield* call("GET", `${path}/${created.textAt("/data/id")}`, { as: "admin" })
        assert.strictEqual(reply.status, status)
        assert.strictEqual(reply.at("/errors/0/code"), code)
        assert.strictEqual(reply.at("/errors/0/id"), reply.headers.get("x-request-id"))
        assert.include(reply.textAt("/errors/0/detail"), said)
        assert.notMatch(reply.text, /hunter2|IntegrationStore|at .*\.ts/)
        controls.fault = "none"
        assert.strictEqual((yield* call("GET", path, { as: "admin" })).status, 200)
      }
    )
  }
})

describe("the log", () => {
  const logged = Effect.fnUntraced(function* (fault: Controls["Service"]["fault"]) {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.map(Logger.formatLogFmt, (line) => void lines.push(line))])
    const reply = yield* Effect.gen(function* () {
      const created = yield* call("POST", path, { as: "admin", body: document() })
      ;(yield* Controls).fault = fault
      return yield* call("GET", `${path}/${created.textAt("/data/id")}?`, { as: "admin" })
    }).pipe(Effect.provide(testServer().pipe(Layer.provide(logger))))
    return { reply, lines }
  })

  it.effect("has one line for an expected failure, with what happened and the request id", () =>
    Effect.gen(function* () {
      for (const [fault, what] of [
        ["store", /The database did not carry out IntegrationStore\.find: password=hunter2\./],
        ["lost_answer", /answer to IntegrationStore\.find was lost/],
        ["directory", /The directory did not answer `administers`.*It said: password=hunter2/]
      ] as const) {
        const { lines, reply } = yield* logged(fault)
        assert.lengthOf(lines, 1)
        const [line = ""] = lines
        assert.match(line, what)
        assert.include(line, reply.headers.get("x-request-id") ?? "?")
        assert.notMatch(line, /\\n|\n|\.ts:\d|\badmin\b/)
      }
    })
  )

  it.effect("counts further requests with the same failure, every five seconds while there are any", () => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.map(Logger.formatLogFmt, (line) => void lines.push(line))])
    return Effect.gen(function* () {
      const created = yield* call("POST", path, { as: "admin", body: document() })
      const fail = (times: number) =>
        Effect.replicateEffect(call("GET", `${path}/${created.textAt("/data/id")}`, { as: "admin" }), times)
      ;(yield* Controls).fault = "store"
      yield* fail(4)
      assert.lengthOf(lines, 1)
      yield* TestClock.adjust("5 seconds")
      yield* fail(2)
      yield* TestClock.adjust("5 seconds")
      yield* TestClock.adjust("5 seconds")
      yield* fail(1)
      assert.deepStrictEqual(
        lines.map((line) => /(\d more requests?|A request) .*IntegrationStore\.find/.exec(line)?.[1]),
        ["A request", "3 more requests", "2 more requests", "A request"]
      )
    }).pipe(Effect.provide(testServer().pipe(Layer.provide(logger))))
  })

  it.effect("has the stack trace of a defect", () =>
    Effect.gen(function* () {
      const { lines } = yield* logged("defect")
      assert.match(lines.join(), /TestServer\.ts:\d/)
    })
  )

  it.effect("does not claim that nothing was changed if that is unknown, and neither does the answer", () =>
    Effect.gen(function* () {
      const lost = (yield* logged("lost_answer")).reply
      assert.strictEqual(lost.status, 503)
      assert.notInclude(lost.text, "Nothing was changed")
      assert.include(lost.textAt("/errors/0/detail"), "may or may not have been carried out")
      assert.include((yield* logged("store")).reply.textAt("/errors/0/detail"), "Nothing was changed")
    })
  )
})

describe("request ids", () => {
  onServer("are on every answer: the caller's own if it is safe, otherwise a new one", function* () {
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
  })
})

describe("unknown addresses", () => {
  onServer("below the authorization server get errors in the format of OAuth", function* () {
    for (const target of [
      "/oauth/userinfo",
      "/oauth/token/more?x=1",
      "/oauth",
      "/oauth/%74oken",
      "/oauth/token;x",
      "/.well-known/oauth-authorization-server/doors"
    ]) {
      const reply = yield* call("POST", target)
      assert.strictEqual(reply.status, 404, target)
      assert.strictEqual(reply.headers.get("content-type"), "application/json")
      assert.strictEqual(reply.headers.get("cache-control"), "no-store")
      assert.deepStrictEqual(reply.json, {
        error: "invalid_request",
        error_description: "Nothing is served at this address."
      })
    }
  })

  onServer("are answered with a JSON 404", function* () {
    for (const [target, accept, type] of [
      ["/v4/nothing", "*/*", "application/vnd.api+json"],
      ["/v4", "*/*", "application/vnd.api+json"],
      ["/v4/nothing", "application/json", "application/json"],
      ["/nothing", "*/*", "application/json"],
      ["/", "application/vnd.api+json", "application/json"]
    ] as const) {
      const reply = yield* call("GET", target, { headers: { accept } })
      assert.strictEqual(reply.headers.get("vary"), "Accept", target)
      assert.strictEqual(reply.status, 404, target)
      assert.strictEqual(reply.headers.get("content-type"), type, target)
      assert.strictEqual(reply.at("/errors/0/code"), "not_found")
      const leadsOn = String(reply.at("/errors/0/detail")).includes("console is at /console")
      assert.strictEqual(leadsOn, target === "/", target)
    }
  })
})
