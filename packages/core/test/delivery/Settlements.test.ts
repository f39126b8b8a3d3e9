import type { Attempt } from "@doorhook/core"
import { AttemptOutcome, builtInTypes, GrantId, Settlements } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { makeLeased } from "../fixtures.ts"
import { attemptOf } from "./fixtures.ts"

const context = { now: 1_000, random: 0, retryAfter: null, wasChanged: false }
const policy = builtInTypes.access_log.retry
const call = { event: { resource_type: "call" } } as const

describe("an attempt of a subscription", () => {
  it.each([410, 413])("that is refused with %d ends the delivery, and not the integration", (status) => {
    const leased = makeLeased(1)
    const grant_id = GrantId.make("grant")
    const subscription = { id: "sub_1", name: "access_log.create", grant_id, expires_at: 9_000, cursor: "" }
    const of = { ...leased, integration: { ...leased.integration, subscription } }
    const settlement = Settlements.settleAttempt(of, attemptOf("bad_status", { status }), policy, context)
    assert.include(settlement, { state: "exhausted", next_attempt_at: null, gone: false })
    const others = Settlements.settleAttempt(of, attemptOf("bad_status", { status: 404 }), policy, context)
    assert.strictEqual(others.state, "retrying")
  })
})

describe("an attempt", () => {
  it("delivers if and only if it was acknowledged", () => {
    fc.assert(
      fc.property(fc.constantFrom(...AttemptOutcome.literals), fc.integer({ min: 1, max: 14 }), (outcome, number) => {
        const attempt = attemptOf(outcome, { number })
        const settlement = Settlements.settleAttempt(makeLeased(1, { attempts: number - 1 }), attempt, policy, context)
        assert.strictEqual(settlement.state === "delivered", outcome === "acknowledged")
        assert.strictEqual(settlement.next_attempt_at !== null, settlement.state === "retrying")
        assert.isFalse(settlement.gone)
      })
    )
  })

  const given = { reason: null, next_attempt_at: null, gone: false }
  it.each([
    ["is acknowledged", attemptOf("acknowledged", { status: 200 }), { ...given, state: "delivered" }],
    ["fails", attemptOf("timeout"), { ...given, state: "retrying", next_attempt_at: 6_000 }],
    [
      "fails as the last of its schedule",
      attemptOf("timeout", { number: 11 }),
      { ...given, state: "exhausted", reason: "schedule_used_up" }
    ],
    [
      "meets a receiver that is gone (410)",
      attemptOf("bad_status", { status: 410 }),
      { ...given, state: "cancelled", reason: "integration_gone", gone: true }
    ]
  ] as const)("%s: the delivery goes on as its rule says", (_, attempt, expected) => {
    const leased = makeLeased(8, { integration: 3, attempts: attempt.number - 1 })
    assert.deepEqual(Settlements.settleAttempt(leased, attempt, policy, context), {
      delivery_id: leased.id,
      integration_id: leased.integration.id,
      attempt,
      lane: 3,
      early: 0,
      retry_after: null,
      ...expected
    })
  })

  it("ends a call if its lifetime ends before the next retry or its retries are used up", () => {
    const settle = (number: number, now: number) =>
      Settlements.settleAttempt(makeLeased(1, call), attemptOf("timeout", { number }), builtInTypes.call.retry, {
        ...context,
        now
      })
    const expired = { state: "expired", reason: "lifetime_over", next_attempt_at: null, gone: false } as const
    assert.deepInclude(settle(1, 43_999), { state: "retrying", next_attempt_at: 44_999, lane: 1 })
    assert.deepInclude(settle(1, 44_000), expired)
    assert.deepInclude(settle(4, 20_000), expired)
  })

  it("records the answer's Retry-After in its detail, and respects it only with status 429 and 503", () => {
    const settle = (status: number, retryAfter = 60_000) =>
      Settlements.settleAttempt(makeLeased(1), attemptOf("bad_status", { status }), policy, { ...context, retryAfter })
    for (const status of [429, 503]) {
      assert.strictEqual(settle(status).next_attempt_at, 61_000)
      assert.strictEqual(settle(status).attempt?.detail, "asked to wait 1m (Retry-After)")
      assert.strictEqual(settle(status, 59_001).attempt?.detail, "asked to wait 1m (Retry-After)")
      assert.strictEqual(settle(status, 3_600_000).attempt?.detail, "asked to wait 1h (Retry-After)")
      const tooLong = settle(status, 7_200_000)
      assert.strictEqual(tooLong.attempt?.detail, "asked to wait 2h (Retry-After), of which 1h is respected")
      assert.strictEqual(tooLong.next_attempt_at, 3_601_000)
    }
    assert.deepEqual([settle(503).retry_after, settle(429, 7_200_000).retry_after], [61_000, 3_601_000])
    assert.isNull(settle(500).retry_after)
    assert.strictEqual(settle(500).next_attempt_at, 6_000)
    assert.isNull(settle(500).attempt?.detail)
  })

  it("reports the answer's Retry-After even if the delivery ends", () => {
    const attempt = attemptOf("bad_status", { status: 503, number: 11 })
    const asked = { ...context, retryAfter: 60_000 }
    const last = Settlements.settleAttempt(makeLeased(1, { attempts: 10 }), attempt, policy, asked)
    assert.deepInclude(last, { state: "exhausted", retry_after: 61_000 })
    const tooLate = Settlements.settleAttempt(
      makeLeased(1, call),
      { ...attempt, number: 1 },
      builtInTypes.call.retry,
      asked
    )
    assert.deepInclude(tooLate, { state: "expired", retry_after: 61_000 })
  })

  it("is repeated a little later if its receiver is gone and the integration can't be disabled yet", () => {
    const attempt = attemptOf("bad_status", { status: 410 })
    const gone = Settlements.settleAttempt(makeLeased(1), attempt, policy, context)
    const again = { state: "retrying", reason: null, next_attempt_at: 6_000, gone: false } as const
    assert.deepEqual(Settlements.retryAfterGone(gone, 1_000), { ...gone, ...again })
    const pauses = [1, 2, 4, 9, 10, 2_000].map((number) => {
      const later = Settlements.settleAttempt(makeLeased(number), { ...attempt, number }, policy, context)
      return (Settlements.retryAfterGone(later, 1_000).next_attempt_at ?? 0) - 1_000
    })
    assert.deepEqual(pauses, [5_000, 10_000, 40_000, 1_280_000, 1_280_000, 1_280_000])
    const failed = Settlements.settleAttempt(makeLeased(1), attemptOf("timeout"), policy, context)
    assert.strictEqual(Settlements.retryAfterGone(failed, 9_000), failed)
  })

  it("fails like any other if its receiver is gone and the integration was changed in the meantime", () => {
    const changed = { ...context, wasChanged: true }
    const gone = attemptOf("bad_status", { status: 410 })
    const settle = (...given: Parameters<typeof makeLeased>) =>
      Settlements.settleAttempt(makeLeased(...given), gone, policy, changed)
    assert.deepInclude(settle(1), { state: "retrying", next_attempt_at: 6_000, gone: false, early: 0 })
    assert.deepInclude(settle(1, { early_due_at: 90_000 }), { state: "retrying", next_attempt_at: 90_000, early: 1 })
  })
})

describe("an early attempt", () => {
  const early = (fields: Parameters<typeof makeLeased>[1] = {}) =>
    makeLeased(1, { attempts: 3, early: 1, early_due_at: 90_000, ...fields })
  const settle = (attempt: Attempt, retryAfter: number | null = null) =>
    Settlements.settleAttempt(early(), attempt, policy, { ...context, retryAfter })

  it("does not use up the schedule if it fails: the delivery keeps its due time, or gets that of a later Retry-After", () => {
    const waits = { state: "retrying", reason: null, early: 2, lane: 3 } as const
    const failed = settle(attemptOf("timeout", { number: 4 }))
    assert.deepInclude(failed, { ...waits, next_attempt_at: 90_000, retry_after: null })
    const refused = attemptOf("bad_status", { number: 4, status: 503 })
    assert.deepInclude(settle(refused, 60_000), { ...waits, next_attempt_at: 90_000, retry_after: 61_000 })
    assert.deepInclude(settle(refused, 100_000), { ...waits, next_attempt_at: 101_000, retry_after: 101_000 })
    assert.strictEqual(settle(refused, 100_000).attempt?.detail, "asked to wait 100s (Retry-After)")
  })

  it("ends the delivery if it is acknowledged or the receiver is gone", () => {
    assert.deepInclude(settle(attemptOf("acknowledged", { number: 4 })), { state: "delivered", early: 1 })
    const gone = settle(attemptOf("bad_status", { number: 4, status: 410 }))
    assert.deepInclude(gone, { state: "cancelled", gone: true, early: 1 })
  })

  it("does not count in the schedule", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.nat(20), (made, early) => {
        const settled = (attempts: number, of: number) =>
          Settlements.settleAttempt(
            makeLeased(1, { attempts: attempts - 1, early: of }),
            attemptOf("timeout", { number: attempts }),
            policy,
            context
          )
        const { next_attempt_at, state } = settled(made, 0)
        assert.deepInclude(settled(made + early, early), { next_attempt_at, state, early })
      })
    )
  })
})

describe("a delivery that is not attempted", () => {
  it("ends as expired if its event is too old, or as cancelled if the right to it is lost, in the same lane", () => {
    const unattempted = { attempt: null, next_attempt_at: null, gone: false, early: 0, retry_after: null }
    const first = makeLeased(1, call)
    const later = makeLeased(1, { ...call, attempts: 2 })
    const expired = { ...unattempted, state: "expired", reason: "lifetime_over" } as const
    assert.deepInclude(Settlements.settleExpired(first), { ...expired, lane: 0 })
    assert.deepInclude(Settlements.settleExpired(later), { ...expired, lane: 1 })
    const lost = { ...unattempted, state: "cancelled", reason: "right_lost" } as const
    assert.deepInclude(Settlements.settleRightLost(later), { ...lost, lane: 1 })
  })
})
