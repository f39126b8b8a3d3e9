/**
 * Deliveries and their attempts, for tests over a server that sends nothing itself.
 */
import { DeliveryStore } from "@doorhook/core"
import type { AttemptOutcome } from "@doorhook/core"
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, document, operatorKey } from "../TestServer.ts"

export const accessLog = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }

/** An integration, and so many events for it. */
export const published = Effect.fnUntraced(function* (count: number) {
  yield* TestClock.setTime(1_000_000)
  const created = yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
  const body = Array.from({ length: count }, () => accessLog)
  const reply = yield* call("POST", "/operator/events", { as: operatorKey, body })
  assert.strictEqual(reply.status, 202)
  return { integration: created.textAt("/data/id"), event: reply.textAt("/events/0/id") }
})

/** For how long an integration may fail in these tests, in milliseconds. */
const disableAfter = 3_600_000

/** Makes an attempt of every due delivery, with this outcome. */
export const attempt = Effect.fnUntraced(function* (
  outcome: AttemptOutcome,
  state: "delivered" | "exhausted" | "expired" | "retrying" | "cancelled",
  gone = false
) {
  const store = yield* DeliveryStore
  const now = yield* Clock.currentTimeMillis
  const lease = { token: "lease", until: now + 1_000_000 }
  const claimed = yield* store.claim({ now, lease, limit: 100, limitPerIntegration: 100, limits: new Map() })
  const settled = yield* store.settle(
    claimed.map((delivery) => ({
      delivery_id: delivery.id,
      integration_id: delivery.integration.id,
      token: lease.token,
      attempt: {
        number: delivery.attempts + 1,
        started_at: now,
        duration_ms: 12,
        outcome,
        status: outcome === "bad_status" ? 500 : null,
        response_excerpt: outcome === "bad_status" ? "oops" : null,
        detail: null
      },
      state,
      reason: state === "exhausted" ? "schedule_used_up" : null,
      next_attempt_at: state === "retrying" ? now + 5_000 : null,
      lane: 3,
      gone
    })),
    now,
    disableAfter
  )
  return [...settled.applied].toSorted((a, b) => a - b)
})
