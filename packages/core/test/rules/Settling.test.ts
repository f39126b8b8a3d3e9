import { assert, describe, it } from "@effect/vitest"
import type { Attempt } from "@doorhook/core"
import { AttemptOutcome, resourceTypes, Settling } from "@doorhook/core"
import fc from "fast-check"
import { makeLeased } from "../fixtures.ts"

const attemptOf = (number: number, outcome: Attempt["outcome"], status: number | null): Attempt => ({
  number,
  started_at: 0,
  duration_ms: 5,
  outcome,
  status,
  response_excerpt: null,
  detail: null
})

const context = { now: 1_000, random: 0, retryAfter: null }
const policy = resourceTypes.access_log.retry

describe("Settling", () => {
  it("delivers on acknowledgement and on nothing else", () => {
    fc.assert(
      fc.property(fc.constantFrom(...AttemptOutcome.literals), fc.integer({ min: 1, max: 12 }), (outcome, number) => {
        const attempt = attemptOf(number, outcome, null)
        const { state } = Settling.settleAttempt(makeLeased(1, { attempts: number - 1 }), attempt, policy, context)
        assert.strictEqual(state === "delivered", outcome === "acknowledged")
      })
    )
  })

  it("has a due time if and only if it will be retried, and keeps the lease's token", () => {
    fc.assert(
      fc.property(fc.constantFrom(...AttemptOutcome.literals), fc.integer({ min: 1, max: 14 }), (outcome, number) => {
        const settlement = Settling.settleAttempt(
          makeLeased(1, { attempts: number - 1 }),
          attemptOf(number, outcome, null),
          policy,
          context
        )
        assert.strictEqual(settlement.next_attempt_at !== null, settlement.state === "retrying")
        assert.strictEqual(settlement.token, "lease")
      })
    )
  })

  it("disables an integration that is gone (410), and cancels instead of retrying", () => {
    const settlement = Settling.settleAttempt(makeLeased(1), attemptOf(1, "bad_status", 410), policy, context)
    assert.deepInclude(settlement, { state: "cancelled", reason: "integration_gone", gone: true })
  })

  it("heeds Retry-After on 429 and 503 only", () => {
    const settle = (status: number, retryAfter = 60_000) =>
      Settling.settleAttempt(makeLeased(1), attemptOf(1, "bad_status", status), policy, { ...context, retryAfter })
    assert.strictEqual(settle(429).next_attempt_at, 61_000)
    assert.strictEqual(settle(503).next_attempt_at, 61_000)
    assert.strictEqual(settle(500).next_attempt_at, 6_000)
    assert.strictEqual(settle(429).attempt?.detail, "asked to wait 1m (Retry-After)")
    assert.match(settle(503, 7_200_000).attempt?.detail ?? "", /^asked to wait 2h \(Retry-After\), of which an hour/)
    assert.isNull(settle(500).attempt?.detail)
  })

  it("moves a delivery to the retry lane after its first attempt", () => {
    assert.strictEqual(Settling.settleAttempt(makeLeased(1), attemptOf(1, "timeout", null), policy, context).lane, 3)
  })
})
