import { idleStatus, IntegrationId } from "@doorhook/core"
import { assert, describe } from "@effect/vitest"
import { Schema } from "effect"
import { TestClock } from "effect/testing"
import { StatsDocument } from "../../src/operator/StatsOperations.ts"
import { call, Controls, operatorKey, onServer } from "../TestServer.ts"
import { published } from "./Attempts.ts"

const as = operatorKey
const figures = () => call("GET", "/operator/stats", { as })

describe("GET /operator/stats", () => {
  onServer("has readiness, the contents of the database, and the work and counts of this process", function* () {
    const before = yield* figures()
    yield* published(3)
    yield* TestClock.adjust("1 second")
    const controls = yield* Controls
    controls.status = {
      ...idleStatus,
      delivering: 2,
      buffered: 5,
      unsettled: 1,
      last_claim_at: 1_000_000,
      outage: { cause: "egress", since: 0 },
      catching_up: [
        { integration_id: IntegrationId.make(1), since: 999_000 },
        { integration_id: IntegrationId.make(2), since: 1_000_000 }
      ]
    }
    const reply = yield* figures()
    assert.strictEqual(reply.status, 200)
    assert.strictEqual(reply.headers.get("cache-control"), "no-store")
    assert.isTrue(Schema.is(StatsDocument)(reply.json))
    assert.strictEqual(reply.at("/status"), "ready")
    assert.isNull(reply.at("/detail"))
    assert.strictEqual(reply.at("/at"), "1970-01-01T00:16:41.000Z")
    assert.strictEqual(reply.at("/database/events"), 3)
    assert.strictEqual(reply.at("/database/deliveries/pending"), 3)
    assert.strictEqual(reply.at("/database/oldest_due_at"), "1970-01-01T00:16:40.000Z")
    assert.strictEqual(Number(reply.at("/process/events_accepted")) - Number(before.at("/process/events_accepted")), 3)
    assert.deepStrictEqual(
      [reply.at("/process/delivering"), reply.at("/process/buffered"), reply.at("/process/unsettled")],
      [2, 5, 1]
    )
    assert.strictEqual(reply.at("/process/last_claim_at"), "1970-01-01T00:16:40.000Z")
    assert.strictEqual(reply.at("/process/outage/cause"), "egress")
    assert.deepStrictEqual(reply.at("/process/catching_up"), [
      { integration_id: "1", since: "1970-01-01T00:16:39.000Z" },
      { integration_id: "2", since: "1970-01-01T00:16:40.000Z" }
    ])
    assert.isNumber(reply.at("/process/acknowledgement_latency/buckets/0/le_ms"))
  })

  onServer("answers while the database does not, and reports that", function* () {
    const controls = yield* Controls
    controls.fault = "store"
    const reply = yield* figures()
    assert.strictEqual(reply.status, 200)
    assert.strictEqual(reply.at("/status"), "store_unreachable")
    assert.match(reply.textAt("/detail"), /database does not answer/)
    assert.isNull(reply.at("/database"))
    assert.notInclude(reply.text, "hunter2")
  })

  onServer("needs the key, and takes no parameters", function* () {
    assert.strictEqual((yield* call("GET", "/operator/stats")).status, 401)
    assert.strictEqual((yield* call("GET", "/operator/stats?x=1", { as })).status, 400)
  })
})
