import { assert, describe, it } from "@effect/vitest"
import { Consequences, Failing } from "@doorhook/core"
import type { Attempt } from "@doorhook/core"
import fc from "fast-check"
import { makeIntegration } from "../fixtures.ts"

const limit = Failing.defaultDisableAfter

/** Attempts of one integration, each so long after the one before. */
const attempts = fc.array(fc.record({ after: fc.integer({ min: 0, max: limit / 4 }), acknowledged: fc.boolean() }), {
  minLength: 1,
  maxLength: 60
})

const attemptOf = (outcome: Attempt["outcome"]): Attempt => ({
  number: 1,
  started_at: 0,
  duration_ms: 1,
  outcome,
  status: null,
  response_excerpt: null,
  detail: null
})

const evidenceOf = (acknowledged: boolean) => ({ acknowledged, failed: !acknowledged })

describe("an integration that fails", () => {
  it("is disabled by a failure three days or more after the first one since the last acknowledgement, never before", () => {
    fc.assert(
      fc.property(attempts, (made) => {
        let failing: Failing.Failing | null = null
        let now = 0
        let firstFailure: number | null = null
        for (const { acknowledged, after } of made) {
          now += after
          const decision = Failing.judgeFailing(failing, evidenceOf(acknowledged), now, limit)
          const since: number = firstFailure ?? now
          assert.strictEqual(decision.disable, !acknowledged && now - since >= limit)
          firstFailure = acknowledged ? null : since
          failing = decision.failing
          assert.strictEqual(failing?.since ?? null, firstFailure)
        }
      })
    )
  })

  it("is told of at most three times before it is disabled, with growing shares of the time passed", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: limit / 3 }), { minLength: 1, maxLength: 60 }), (gaps) => {
        let failing: Failing.Failing | null = null
        let now = 0
        const told: Array<number> = []
        for (const gap of gaps) {
          const decision: Failing.FailingDecision = Failing.judgeFailing(failing, evidenceOf(false), now, limit)
          if (decision.disable) break
          if (decision.notice) told.push(now / limit)
          failing = decision.failing
          now += gap
        }
        assert.isAtMost(told.length, 3)
        told.forEach((share, index) => assert.isAtLeast(share, Failing.noticeShares[index] ?? 1))
      })
    )
  })
})

describe("what a batch means for its integration", () => {
  const subject = (status: "enabled" | "disabled", failing: Failing.Failing | null): Consequences.Subject => ({
    integration: {
      id: makeIntegration().id,
      scope: makeIntegration().scope,
      status,
      disabled_reason: status === "enabled" ? null : "failing"
    },
    failing
  })

  it("needs nothing of the store while all is acknowledged by what does not fail", () => {
    const acknowledged = { attempt: attemptOf("acknowledged"), state: "delivered", gone: false } as const
    const failed = { attempt: attemptOf("timeout"), state: "retrying", gone: false } as const
    const may = Consequences.mayHaveConsequences
    assert.isFalse(may(subject("enabled", null), [acknowledged, acknowledged]))
    assert.isTrue(may(subject("enabled", null), [acknowledged, failed]))
    assert.isTrue(may(subject("enabled", { since: 0, noticed: 0 }), [acknowledged]))
    assert.isTrue(may(subject("disabled", null), [acknowledged]))
  })
})
