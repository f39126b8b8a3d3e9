import { assert, describe } from "@effect/vitest"
import { TestClock } from "effect/testing"
import { call, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

describe("the rate limit", () => {
  onServer(
    "applies to one authorization, for the rest of the minute",
    function* () {
      for (const rest of [2, 1, 0]) {
        const reply = yield* call("GET", path, { as: "admin" })
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(reply.headers.get("ratelimit"), `"default";r=${rest};t=60`)
        assert.strictEqual(reply.headers.get("ratelimit-policy"), '"default";q=3;w=60')
      }
      yield* TestClock.adjust(20_500)
      const refused = yield* call("GET", path, { as: "admin" })
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers.get("retry-after"), "40")
      assert.strictEqual(refused.at("/errors/0/code"), "rate_limited")
      assert.strictEqual((yield* call("GET", path, { as: "colleague" })).status, 200)
      yield* TestClock.adjust(39_500)
      assert.strictEqual((yield* call("GET", path, { as: "admin" })).status, 200)
    },
    { api: { requestsPerMinute: 3 } }
  )

  onServer(
    "is in the headers of every answer to an authenticated caller, even of refusals",
    function* () {
      const refusals = [
        [400, call("GET", `${path}?pag=2`, { as: "admin" })],
        [406, call("GET", path, { as: "admin", headers: { accept: "image/png" } })],
        [404, call("GET", `${path}/999`, { as: "admin" })],
        [400, call("POST", path, { as: "admin", body: "{" })]
      ] as const
      for (const [before, [status, refusal]] of refusals.entries()) {
        const reply = yield* refusal
        assert.strictEqual(reply.status, status)
        assert.strictEqual(reply.headers.get("ratelimit"), `"default";r=${8 - before};t=60`)
        assert.strictEqual(reply.headers.get("ratelimit-policy"), '"default";q=9;w=60')
      }
      assert.isNull((yield* call("GET", path, { as: "nobody" })).headers.get("ratelimit"))
    },
    { api: { requestsPerMinute: 9 } }
  )
})
