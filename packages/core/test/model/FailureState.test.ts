import { FailureState } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"

const { defaultDisableAfter, evaluateFailure, leastFailedAttempts, warningThresholds, nextWarning, warningCutoffs } =
  FailureState

/** Time after which a failing integration is disabled in these tests, in milliseconds. */
const limit = 1_000
const acknowledged = { acknowledged: true, failed: 0, retry_after: null }
const failed = { acknowledged: false, failed: 1, retry_after: null }
const failedOften = { ...failed, failed: 4 }
/**
 * Makes the state of a failure that began at 5,000, with enough failed attempts that the next one disables the
 * integration.
 */
const failing = (fields: Partial<FailureState.FailureState> = {}): FailureState.FailureState => ({
  since: 5_000,
  warnings: 0,
  attempts: leastFailedAttempts - 1,
  retry_after: null,
  ...fields
})
const quiet = { warn: false, disable: false, recovered: false }

/** Attempts to one integration, most of which fail. `after` is the time since the previous attempt. */
const attempts = fc.array(
  fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: limit / 2 }), fc.constantFrom(limit / 2, limit - 1, limit)),
    evidence: fc.constantFrom(failed, failed, failed, failedOften, failedOften, acknowledged)
  }),
  { minLength: 1, maxLength: 30 }
)

describe("a failing integration", () => {
  it("is disabled after three days by default", () => {
    assert.strictEqual(defaultDisableAfter, 72 * 3_600_000)
  })

  it("is disabled by a failure after its time has passed and ten attempts have failed, never before", () => {
    let disabled = 0
    fc.assert(
      fc.property(attempts, (made) => {
        let failing: FailureState.FailureState | null = null
        let now = 0
        let firstFailure: number | null = null
        let failures = 0
        for (const { after, evidence } of made) {
          now += after
          const decision = evaluateFailure(failing, evidence, now, limit)
          const since: number = firstFailure ?? now
          failures = evidence.acknowledged ? 0 : failures + evidence.failed
          assert.strictEqual(decision.disable, failures >= 10 && firstFailure !== null && now - since >= limit)
          if (decision.disable) disabled++
          firstFailure = evidence.acknowledged ? null : since
          failing = decision.failing
          assert.deepEqual([failing?.since ?? null, failing?.attempts ?? 0], [firstFailure, failures])
        }
      })
    )
    assert.isAbove(disabled, 20)
  })

  it("causes at most three warnings before it is disabled, at growing shares of the time", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 }), (gaps) => {
        let failing: FailureState.FailureState | null = null
        let now = 0
        const warnings: Array<number> = []
        for (const gap of gaps) {
          const decision: FailureState.FailureDecision = evaluateFailure(failing, failed, now, limit)
          if (decision.disable) break
          if (decision.warn) warnings.push(now / limit)
          failing = decision.failing
          now += gap
        }
        assert.isAtMost(warnings.length, 3)
        warnings.forEach((share, index) => assert.isAtLeast(share, warningThresholds[index] ?? 1))
      })
    )
  })

  // Failing since 5,000; the limit is 1,000, so the integration is disabled at 6,000.
  it.each([
    ["nothing at first", 5_499, 0, { warnings: 0 }],
    ["a warning, at half of its time", 5_500, 0, { warnings: 1, warn: true }],
    ["nothing new within the same share", 5_699, 1, { warnings: 1 }],
    ["another at 70 %", 5_700, 1, { warnings: 2, warn: true }],
    ["another at 90 %", 5_900, 2, { warnings: 3, warn: true }],
    ["nothing new until the end", 5_999, 3, { warnings: 3 }],
    ["one warning, when it passed several shares unseen", 5_950, 0, { warnings: 3, warn: true }],
    ["its end, when its time is over", 6_000, 3, { warnings: 3, disable: true }],
    ["its end alone, when all passed unseen", 9_000, 0, { warnings: 3, disable: true }],
    ["nothing twice, when it was given more time since", 5_100, 2, { warnings: 2 }]
  ] as const)("leads to %s", (_, now, before, { warnings, ...decided }) => {
    const decision = evaluateFailure(failing({ warnings: before }), failed, now, limit)
    assert.deepStrictEqual(decision, { ...quiet, ...decided, failing: failing({ warnings, attempts: 10 }) })
  })

  it("causes warnings, but is not disabled, while fewer than ten attempts have failed", () => {
    for (const attempts of [1, 8]) {
      const { disable, warn } = evaluateFailure(failing({ attempts }), failed, 900_000, limit)
      assert.deepEqual([disable, warn], [false, true])
    }
    assert.isTrue(evaluateFailure(failing({ attempts: 8 }), { ...failed, failed: 2 }, 900_000, limit).disable)
    assert.isFalse(evaluateFailure(failing({ attempts: 800 }), failed, 5_999, limit).disable)
  })

  it("keeps the latest Retry-After time of its receiver", () => {
    const kept = (before: number | null, retry_after: number | null) =>
      evaluateFailure(failing({ retry_after: before }), { ...failed, retry_after }, 5_001, limit).failing?.retry_after
    assert.deepEqual([kept(null, null), kept(null, 7), kept(7, null), kept(7, 8), kept(8, 7)], [null, 7, 7, 8, 8])
    assert.strictEqual(evaluateFailure(null, { ...failed, retry_after: 7 }, 5_000, limit).failing?.retry_after, 7)
  })

  it("is neither reported nor disabled by its first failures, however short the time", () => {
    const decision = evaluateFailure(null, { ...failed, failed: 20 }, 5_000, 0)
    assert.deepEqual(decision, { ...quiet, failing: failing({ attempts: 20 }) })
  })

  it("works again after one acknowledgement, whatever failed in the same batch, which is reported if a warning was", () => {
    for (const evidence of [acknowledged, { ...failedOften, acknowledged: true }]) {
      const judge = (before: FailureState.FailureState | null) => evaluateFailure(before, evidence, 9_000, limit)
      assert.deepStrictEqual(judge(null), { ...quiet, failing: null })
      assert.deepStrictEqual(judge(failing()), { ...quiet, failing: null })
      assert.deepStrictEqual(judge(failing({ warnings: 1 })), { ...quiet, failing: null, recovered: true })
    }
  })

  it("causes the same warnings by time alone as by attempts at that time", () => {
    fc.assert(
      fc.property(fc.nat(2 * limit), fc.constantFrom(0, 1, 2, 3), (lasted, warnings) => {
        const before = failing({ warnings })
        const now = before.since + lasted
        const next = nextWarning(before, now, limit)
        const attempts = before.attempts + 1
        assert.deepStrictEqual({ ...(next ?? before), attempts }, evaluateFailure(before, failed, now, limit).failing)
        const searched = warningCutoffs(now, limit)[warnings]
        assert.strictEqual(next !== null, searched !== undefined && before.since <= searched)
      })
    )
  })

  it("does not change while nothing is sent to it, however much time passes", () => {
    const unsent = { ...failed, failed: 0 }
    for (const before of [null, failing({ warnings: 1, attempts: 900 })])
      assert.deepStrictEqual(evaluateFailure(before, unsent, 900_000, limit), { ...quiet, failing: before })
  })
})
