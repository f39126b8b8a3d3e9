/**
 * Makes deliveries and attempts for tests of a server that does not send anything itself.
 */
import { DeliveryStore } from "@doorhook/core"
import type { AttemptOutcome, Settlement } from "@doorhook/core"
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { call, document, operatorKey } from "../TestServer.ts"

export const accessLog = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }

/** Creates an integration and publishes a number of events to it. */
export const published = Effect.fnUntraced(function* (count: number) {
  yield* TestClock.setTime(1_000_000)
  const created = yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
  const body = Array.from({ length: count }, () => accessLog)
  const reply = yield* call("POST", "/operator/events", { as: operatorKey, body })
  assert.strictEqual(reply.status, 202)
  return { integration: created.textAt("/data/id"), event: reply.textAt("/events/0/id") }
})

/** Time after which a failing integration is disabled in these tests, in milliseconds. */
const disableAfter = 3_600_000

const worker = "attempts"

/** Leases every due delivery. */
export const claimDue = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const now = yield* Clock.currentTimeMillis
  yield* store.heartbeat({ worker, now, until: now + 1_000_000 })
  const limits = { limit: 100, limitPerIntegration: 100, limits: new Map() }
  return (yield* store.claim({ worker, now, ...limits })).deliveries
})

/** Records an attempt of every due delivery, with this outcome. */
export const attempt = Effect.fnUntraced(function* (
  outcome: AttemptOutcome,
  state: "delivered" | "exhausted" | "expired" | "retrying" | "cancelled",
  gone = false,
  response_excerpt: string | null = outcome === "bad_status" ? "oops" : null,
  detail: string | null = null
) {
  const store = yield* DeliveryStore
  const now = yield* Clock.currentTimeMillis
  const settlements = (yield* claimDue).map((delivery): Settlement => ({
    delivery_id: delivery.id,
    integration_id: delivery.integration.id,
    attempt: {
      number: delivery.attempts + 1,
      started_at: now,
      duration_ms: 12,
      outcome,
      status: outcome === "bad_status" ? 500 : null,
      response_excerpt,
      detail
    },
    state,
    reason: state === "exhausted" ? "schedule_used_up" : null,
    next_attempt_at: state === "retrying" ? now + 5_000 : null,
    lane: 3,
    early: delivery.early,
    retry_after: null,
    gone
  }))
  const settled = yield* store.settle({ worker, settlements, releases: [] }, now, disableAfter)
  return [...settled.applied].toSorted((a, b) => a - b)
})
