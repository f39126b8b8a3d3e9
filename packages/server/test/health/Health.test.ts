import { assert, describe, it } from "@effect/vitest"
import { IntegrationId, idleStatus } from "@doorhook/core"
import { Deferred, Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { once } from "node:events"
import { request } from "node:http"
import { Listener } from "../../src/http/Listener.ts"
import { call, Controls, document, operatorKey, testServer, onServer } from "../TestServer.ts"

const metricsKey = "a-metrics-key-of-more-than-32-characters"

const event = { resource_type: "access_log", action: "create", building_id: 1, data: {} }

describe("the log of a store that refuses changes", () => {
  it.effect("has the store's own error, not a timeout", () => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    return Effect.gen(function* () {
      ;(yield* Controls).fault = "read_only"
      assert.strictEqual((yield* call("GET", "/health/ready")).status, 503)
      assert.lengthOf(lines, 1)
      assert.match(lines[0] ?? "", /The health check of the store failed.*hunter2/)
      assert.notMatch(lines[0] ?? "", /answer/)
    }).pipe(Effect.provide(testServer().pipe(Layer.provide(logger))))
  })
})

describe("health", () => {
  onServer("is live without a key", function* () {
    const reply = yield* call("GET", "/health/live")
    assert.strictEqual(reply.status, 200)
    assert.deepStrictEqual(reply.json, { status: "live" })
  })

  onServer("is ready until the dispatcher leaves a due delivery unclaimed for too long", function* () {
    const controls = yield* Controls
    yield* TestClock.setTime(1_000_000)
    const idle = yield* call("GET", "/health/ready")
    assert.strictEqual(idle.status, 200)
    assert.deepStrictEqual(idle.json, {
      status: "ready",
      causes: [],
      oldest_due_age_ms: 0,
      delivering: 0,
      buffered: 0,
      unsettled: 0,
      last_claim_at: null,
      outage: null
    })

    yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
    yield* call("POST", "/operator/events", { as: operatorKey, body: event })
    yield* TestClock.adjust(30_000)
    assert.strictEqual((yield* call("GET", "/health/ready")).status, 200)

    yield* TestClock.adjust(1)
    const still = yield* call("GET", "/health/ready")
    assert.strictEqual(still.status, 503)
    assert.strictEqual(still.at("/status"), "stalled")
    assert.strictEqual(still.at("/oldest_due_age_ms"), 30_001)

    // A process that keeps claiming does not count as stalled, however old its backlog is.
    controls.status = { ...controls.status, delivering: 10, buffered: 3, unsettled: 2, last_claim_at: 1_030_000 }
    const busy = yield* call("GET", "/health/ready")
    assert.strictEqual(busy.status, 200)
    assert.deepStrictEqual(busy.json, {
      status: "ready",
      causes: [],
      oldest_due_age_ms: 30_001,
      delivering: 10,
      buffered: 3,
      unsettled: 2,
      last_claim_at: "1970-01-01T00:17:10.000Z",
      outage: null
    })

    yield* TestClock.adjust(9_999)
    assert.strictEqual((yield* call("GET", "/health/ready")).status, 200)
    yield* TestClock.adjust(1)
    const idler = yield* call("GET", "/health/ready")
    assert.strictEqual(idler.status, 503)
    assert.match(idler.textAt("/detail"), /^This process has not looked for due deliveries for 10001 ms/)
  })

  onServer("is not ready when finished attempts wait too long to be recorded", function* () {
    const controls = yield* Controls
    yield* TestClock.setTime(1_000_000)
    controls.status = { ...controls.status, last_claim_at: 1_000_000, unsettled: 2, unsettled_since: 980_000 }
    assert.strictEqual((yield* call("GET", "/health/ready")).status, 200)
    yield* TestClock.adjust(1)
    const reply = yield* call("GET", "/health/ready")
    assert.deepStrictEqual([reply.status, reply.at("/status")], [503, "stalled"])
    assert.match(reply.textAt("/detail"), /have not been recorded for 20001 ms/)
  })

  onServer("is ready while deliveries wait for a failed dependency, and names it", function* () {
    const controls = yield* Controls
    yield* TestClock.setTime(1_000_000)
    controls.status = { ...controls.status, last_claim_at: 1_000_000, outage: { cause: "directory", since: 900_000 } }
    const reply = yield* call("GET", "/health/ready")
    assert.deepStrictEqual([reply.status, reply.at("/status")], [200, "ready"])
    assert.strictEqual(reply.at("/outage/cause"), "directory")
    assert.strictEqual(reply.at("/outage/since"), "1970-01-01T00:15:00.000Z")
    assert.match(reply.textAt("/outage/detail"), /^The directory can't be queried; .* Events are accepted/)
  })

  onServer("is not ready while the store answers and refuses all changes", function* () {
    const controls = yield* Controls
    yield* TestClock.setTime(1_000_000)
    controls.status = {
      ...controls.status,
      last_claim_at: 1_000_000,
      store_failure: { since: 998_000, reason: null }
    }
    assert.strictEqual((yield* call("GET", "/health/ready")).status, 200)
    yield* TestClock.adjust(1)
    const reply = yield* call("GET", "/health/ready")
    assert.deepStrictEqual([reply.status, reply.at("/status")], [503, "store_refuses_changes"])
    assert.match(reply.textAt("/detail"), /^The database answers, but refuses changes; the log has its message\./)
  })

  onServer("is not ready with a read-only store", function* () {
    const controls = yield* Controls
    controls.fault = "read_only"
    const reply = yield* call("GET", "/health/ready")
    assert.deepStrictEqual([reply.status, reply.at("/status")], [503, "read_only"])
    assert.strictEqual(reply.at("/oldest_due_age_ms"), 0)
    controls.fault = "none"
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual((yield* call("GET", "/health/ready")).status, 200)
  })

  onServer("probes the store at most every two seconds, for any number of requests", function* () {
    const controls = yield* Controls
    yield* TestClock.setTime(3_600_000)
    const twenty = Effect.forEach(Array.from({ length: 20 }), () => call("GET", "/health/ready"), {
      concurrency: "unbounded"
    })
    const statuses = Effect.map(twenty, (replies) => new Set(replies.map(({ status }) => status)))
    assert.deepStrictEqual(yield* statuses, new Set([200]))
    assert.deepStrictEqual(yield* statuses, new Set([200]))
    yield* call("GET", "/operator/stats", { as: operatorKey })
    assert.strictEqual(controls.probes, 1)
    controls.fault = "read_only"
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual(yield* statuses, new Set([503]))
    assert.strictEqual(controls.probes, 2)
    yield* TestClock.setTime(0)
    yield* TestClock.adjust("2 seconds")
    controls.fault = "none"
    assert.deepStrictEqual(yield* statuses, new Set([200]), "after the clock was set back")
    assert.strictEqual(controls.probes, 3)
  })

  onServer("does not probe a store while publications succeed, and does after a refused one", function* () {
    const controls = yield* Controls
    controls.fault = "read_only"
    controls.status = { ...controls.status, store_proven: true }
    assert.strictEqual((yield* call("GET", "/health/ready")).status, 200)
    assert.strictEqual(controls.probes, 0)
    controls.status = { ...controls.status, store_proven: false, store_failure: { since: 0, reason: "disk_full" } }
    assert.strictEqual((yield* call("GET", "/health/ready")).at("/status"), "read_only", "it has just begun")
    yield* TestClock.adjust("2001 millis")
    assert.strictEqual((yield* call("GET", "/health/ready")).at("/status"), "disk_full")
    assert.strictEqual(controls.probes, 1)
  })

  onServer("is not ready without the store", function* () {
    const controls = yield* Controls
    controls.fault = "store"
    const reply = yield* call("GET", "/health/ready")
    assert.strictEqual(reply.status, 503)
    assert.strictEqual(reply.at("/status"), "store_unreachable")
    assert.match(
      reply.textAt("/detail"),
      /^The database does not answer, or its answer can't be used; the log says why\. /
    )
    assert.notInclude(reply.text, "hunter2")
    assert.isNull(reply.at("/oldest_due_age_ms"))
    assert.strictEqual(reply.at("/delivering"), 0)
    assert.strictEqual((yield* call("GET", "/health/live")).status, 200)
  })

  onServer("does not wait for a store that does not answer", function* () {
    const controls = yield* Controls
    controls.fault = "silence"
    const asking = yield* Effect.forkChild(call("GET", "/health/ready"))
    yield* Deferred.await(controls.asked)
    yield* TestClock.adjust(2_000)
    const reply = yield* Fiber.join(asking)
    assert.deepStrictEqual([reply.status, reply.at("/status")], [503, "store_unreachable"])
  })
})

describe("GET /metrics", () => {
  onServer("shows deliveries by state, and failing integrations", function* () {
    const controls = yield* Controls
    yield* TestClock.setTime(1_000_000)
    yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
    yield* call("POST", "/operator/events", { as: operatorKey, body: [event, event] })
    const worst = [{ integration_id: IntegrationId.make(3), failures: 12, since: 900_500 }]
    controls.status = {
      delivers: true,
      is_member: true,
      settings_differ: null,
      delivering: 4,
      buffered: 3,
      unsettled: 2,
      unsettled_since: 999_000,
      last_claim_at: 999_000,
      store_failure: null,
      store_proven: true,
      outage: { cause: "egress", since: 998_000 },
      catching_up: [{ integration_id: IntegrationId.make(1), since: 999_000 }],
      failing: 40,
      worst
    }
    yield* TestClock.adjust(250)
    const { text } = yield* call("GET", "/metrics")
    for (const line of [
      "doorhook_store_up 1",
      'doorhook_not_ready{cause="stalled"} 0',
      'doorhook_deliveries{state="pending"} 2',
      'doorhook_deliveries{state="exhausted"} 0',
      "doorhook_oldest_due_age_seconds 0.25",
      "doorhook_delivering 4",
      "doorhook_buffered 3",
      "doorhook_unsettled 2",
      "doorhook_last_claim_timestamp_seconds 999",
      'doorhook_outage{cause="egress"} 1',
      'doorhook_outage{cause="directory"} 0',
      "doorhook_catching_up_integrations 1",
      "doorhook_failing_integrations 40",
      'doorhook_integration_consecutive_failures{integration_id="3"} 12',
      'doorhook_integration_failing_since_timestamp_seconds{integration_id="3"} 900.5'
    ]) {
      assert.include(text.split("\n"), line)
    }
  })

  onServer("leaves out values that the store can't return", function* () {
    const controls = yield* Controls
    assert.match((yield* call("GET", "/metrics")).text, /^doorhook_oldest_due_age_seconds 0$/m)
    controls.status = { ...controls.status, store_failure: { since: -9_000, reason: "disk_full" } }
    assert.match((yield* call("GET", "/metrics")).text, /^doorhook_not_ready\{cause="disk_full"\} 1$/m)
    controls.status = idleStatus
    controls.fault = "store"
    const { status, text } = yield* call("GET", "/metrics")
    assert.match(text, /^doorhook_not_ready\{cause="disk_full"\} 0$/m)
    assert.match(text, /^doorhook_not_ready\{cause="store_unreachable"\} 1$/m)
    assert.strictEqual(status, 200)
    assert.match(text, /^doorhook_store_up 0$/m)
    assert.match(text, /^doorhook_delivering 0$/m)
    assert.notMatch(text, /doorhook_oldest_due_age_seconds|doorhook_deliveries\{/)
  })

  onServer("is in the Prometheus text format", function* () {
    const { status, headers, text } = yield* call("GET", "/metrics")
    assert.strictEqual(status, 200)
    assert.strictEqual(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
    assert.match(text, /^# TYPE doorhook_oldest_due_age_seconds gauge\ndoorhook_oldest_due_age_seconds 0$/m)
    assert.match(text, /^doorhook_delivering 0$/m)
    for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"]) {
      assert.match(text, new RegExp(`^# TYPE ${name} (counter|gauge)\n${name} [1-9.][0-9.]*$`, "m"))
    }
    assert.notMatch(text, /\n\n/, "no line is empty")
  })

  onServer("is only for programs on this machine, not for clients of a local proxy", function* () {
    for (const name of [
      "x-forwarded-for",
      "x-forwarded-proto",
      "x-real-ip",
      "x-envoy-external-address",
      "x-client-ip",
      "x-request-id",
      "forwarded",
      "via",
      "cf-connecting-ip",
      "cdn-loop",
      "true-client-ip",
      "fastly-client-ip",
      "fly-client-ip"
    ]) {
      const reply = yield* call("GET", "/metrics", { headers: { [name]: "203.0.113.9" } })
      assert.deepStrictEqual([reply.status, reply.at("/errors/0/code")], [403, "forbidden"], name)
      assert.include(reply.textAt("/errors/0/detail"), `\`${name}\``)
    }
    const scraper = { "x-prometheus-scrape-timeout-seconds": "10", "user-agent": "Prometheus/3", traceparent: "00-1" }
    assert.strictEqual((yield* call("GET", "/metrics", { headers: scraper })).status, 200)
  })

  onServer("refuses other host names, which DNS rebinding could use", function* () {
    const { port } = new URL((yield* Listener).url)
    const statusFor = (host: string) =>
      Effect.promise(async () => {
        const sent = request({ port, path: "/metrics", headers: { host } }).end()
        const [answer] = await once(sent, "response")
        answer.resume()
        return answer.statusCode
      })
    for (const host of [`localhost:${port}`, "LOCALHOST", `127.0.0.1:${port}`, "127.0.0.2", `[::1]:${port}`]) {
      assert.strictEqual(yield* statusFor(host), 200, host)
    }
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "192.0.2.1",
      "0.0.0.0",
      "x@localhost:4000/"
    ]) {
      assert.strictEqual(yield* statusFor(host), 403, host)
    }
  })

  onServer(
    "needs the key if one is set, from any address",
    function* () {
      for (const headers of [{}, { "x-forwarded-for": "203.0.113.9" }]) {
        assert.strictEqual((yield* call("GET", "/metrics", { as: metricsKey, headers })).status, 200)
        for (const as of [undefined, operatorKey, metricsKey.slice(1), `${metricsKey}x`]) {
          const reply = yield* call("GET", "/metrics", { headers, ...(as !== undefined && { as }) })
          assert.deepStrictEqual([reply.status, reply.at("/errors/0/code")], [401, "unauthorized"])
          assert.strictEqual(reply.headers.get("www-authenticate"), 'Bearer realm="doorhook metrics"')
        }
      }
    },
    { health: { metricsKey: Redacted.make(metricsKey), metricsFor: "anyone" } }
  )

  onServer(
    "is for anyone if configured",
    function* () {
      const reply = yield* call("GET", "/metrics", { headers: { "x-forwarded-for": "203.0.113.9" } })
      assert.strictEqual(reply.status, 200)
    },
    { health: { metricsFor: "anyone" } }
  )
})
