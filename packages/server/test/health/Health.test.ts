import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, Controls, document, operatorKey, testServer } from "../TestServer.ts"

const event = { resource_type: "access_log", action: "create", building_id: 1, data: {} }

describe("health", () => {
  it.effect("is live without a key", () =>
    Effect.gen(function* () {
      const reply = yield* call("GET", "/health/live")
      assert.strictEqual(reply.status, 200)
      assert.deepStrictEqual(reply.json, { status: "live" })
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("is ready until the dispatcher leaves due deliveries alone for too long", () =>
    Effect.gen(function* () {
      const controls = yield* Controls
      yield* TestClock.setTime(1_000_000)
      const idle = yield* call("GET", "/health/ready")
      assert.strictEqual(idle.status, 200)
      assert.deepStrictEqual(idle.json, {
        status: "ready",
        oldest_due_age_ms: 0,
        delivering: 0,
        buffered: 0,
        last_claim_at: null
      })

      yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
      yield* call("POST", "/operator/events", { as: operatorKey, body: event })
      yield* TestClock.adjust(30_000)
      assert.strictEqual((yield* call("GET", "/health/ready")).status, 200)

      yield* TestClock.adjust(1)
      const still = yield* call("GET", "/health/ready")
      assert.strictEqual(still.status, 503)
      assert.strictEqual(still.at("/status"), "standing_still")
      assert.strictEqual(still.at("/oldest_due_age_ms"), 30_001)

      // A backlog that is being worked on, however old, is no standstill.
      controls.status = { delivering: 10, buffered: 3, last_claim_at: 1_030_000 }
      const busy = yield* call("GET", "/health/ready")
      assert.strictEqual(busy.status, 200)
      assert.deepStrictEqual(busy.json, {
        status: "ready",
        oldest_due_age_ms: 30_001,
        delivering: 10,
        buffered: 3,
        last_claim_at: "1970-01-01T00:17:10.000Z"
      })

      yield* TestClock.adjust(30_000)
      assert.strictEqual((yield* call("GET", "/health/ready")).status, 503)
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("is not ready without the store", () =>
    Effect.gen(function* () {
      const controls = yield* Controls
      controls.fault = "store"
      const reply = yield* call("GET", "/health/ready")
      assert.strictEqual(reply.status, 503)
      assert.deepStrictEqual(reply.json, { status: "store_unreachable" })
      assert.strictEqual((yield* call("GET", "/health/live")).status, 200)
      assert.strictEqual((yield* call("GET", "/metrics")).status, 200)
    }).pipe(Effect.provide(testServer()))
  )
})

describe("GET /metrics", () => {
  it.effect("is text for Prometheus", () =>
    Effect.gen(function* () {
      const { status, headers, text } = yield* call("GET", "/metrics")
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
      assert.match(text, /^# TYPE doorhook_oldest_due_age_ms gauge\ndoorhook_oldest_due_age_ms 0$/m)
      assert.match(text, /^doorhook_delivering 0$/m)
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("is for programs on this machine, not for those behind a proxy on it", () =>
    Effect.gen(function* () {
      for (const name of ["x-forwarded-for", "forwarded"]) {
        const reply = yield* call("GET", "/metrics", { headers: { [name]: "for=203.0.113.9" } })
        assert.strictEqual(reply.status, 403)
        assert.strictEqual(reply.at("/errors/0/code"), "forbidden")
      }
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("is for anyone where that is set", () =>
    Effect.gen(function* () {
      const reply = yield* call("GET", "/metrics", { headers: { "x-forwarded-for": "203.0.113.9" } })
      assert.strictEqual(reply.status, 200)
    }).pipe(Effect.provide(testServer({ health: { metricsFor: "anyone" } })))
  )
})
