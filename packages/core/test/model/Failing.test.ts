import { Failing } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"

const { defaultDisableAfter, judgeFailing, leastFailedAttempts, noticeShares, warned, warnedSince } = Failing

/** The time that an integration may fail here. */
const limit = 1_000
const acknowledged = { acknowledged: true, failed: 0, retry_after: null }
const failed = { acknowledged: false, failed: 1, retry_after: null }
const failedOften = { ...failed, failed: 4 }
/** Failing since 5,000, with enough failed attempts to be disabled by the next one. */
const failing = (fields: Partial<Failing.Failing> = {}): Failing.Failing => ({
  since: 5_000,
  noticed: 0,
  attempts: leastFailedAttempts - 1,
  retry_after: null,
  ...fields
})
const quiet = { notice: false, disable: false, recovered: false }

/** Attempts of one integration, each so long after the one before; most of them fail. */
const attempts = fc.array(
  fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: limit / 2 }), fc.constantFrom(limit / 2, limit - 1, limit)),
    evidence: fc.constantFrom(failed, failed, failed, failedOften, failedOften, acknowledged)
  }),
  { minLength: 1, maxLength: 30 }
)

describe("an integration that fails", () => {
  it("has three days, unless settings say otherwise", () => {
    assert.strictEqual(defaultDisableAfter, 72 * 3_600_000)
  })

  it("is disabled by a failure when its time has passed since the first one, and ten attempts failed, never before", () => {
    let disabled = 0
    fc.assert(
      fc.property(attempts, (made) => {
        let failing: Failing.Failing | null = null
        let now = 0
        let firstFailure: number | null = null
        let failures = 0
        for (const { after, evidence } of made) {
          now += after
          const decision = judgeFailing(failing, evidence, now, limit)
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

  it("is warned of at most three times before it is disabled, with growing shares of the time passed", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 }), (gaps) => {
        let failing: Failing.Failing | null = null
        let now = 0
        const warnings: Array<number> = []
        for (const gap of gaps) {
          const decision: Failing.FailingDecision = judgeFailing(failing, failed, now, limit)
          if (decision.disable) break
          if (decision.notice) warnings.push(now / limit)
          failing = decision.failing
          now += gap
        }
        assert.isAtMost(warnings.length, 3)
        warnings.forEach((share, index) => assert.isAtLeast(share, noticeShares[index] ?? 1))
      })
    )
  })

  // Since 5,000, of 1,000.
  it.each([
    ["nothing at first", 5_499, 0, { noticed: 0 }],
    ["a warning, at half of its time", 5_500, 0, { noticed: 1, notice: true }],
    ["nothing new within the same share", 5_699, 1, { noticed: 1 }],
    ["another at 70 %", 5_700, 1, { noticed: 2, notice: true }],
    ["another at 90 %", 5_900, 2, { noticed: 3, notice: true }],
    ["nothing new until the end", 5_999, 3, { noticed: 3 }],
    ["one warning, when it passed several shares unseen", 5_950, 0, { noticed: 3, notice: true }],
    ["its end, when its time is over", 6_000, 3, { noticed: 3, disable: true }],
    ["its end alone, when all passed unseen", 9_000, 0, { noticed: 3, disable: true }],
    ["nothing twice, when it was given more time since", 5_100, 2, { noticed: 2 }]
  ] as const)("leads to %s", (_, now, before, { noticed, ...decided }) => {
    const decision = judgeFailing(failing({ noticed: before }), failed, now, limit)
    assert.deepStrictEqual(decision, { ...quiet, ...decided, failing: failing({ noticed, attempts: 10 }) })
  })

  it("is warned of, and not disabled, while fewer than ten attempts have failed", () => {
    for (const attempts of [1, 8]) {
      const { disable, notice } = judgeFailing(failing({ attempts }), failed, 900_000, limit)
      assert.deepEqual([disable, notice], [false, true])
    }
    assert.isTrue(judgeFailing(failing({ attempts: 8 }), { ...failed, failed: 2 }, 900_000, limit).disable)
    assert.isFalse(judgeFailing(failing({ attempts: 800 }), failed, 5_999, limit).disable)
  })

  it("keeps the latest time until which its receiver asked for no requests", () => {
    const kept = (before: number | null, retry_after: number | null) =>
      judgeFailing(failing({ retry_after: before }), { ...failed, retry_after }, 5_001, limit).failing?.retry_after
    assert.deepEqual([kept(null, null), kept(null, 7), kept(7, null), kept(7, 8), kept(8, 7)], [null, 7, 7, 8, 8])
    assert.strictEqual(judgeFailing(null, { ...failed, retry_after: 7 }, 5_000, limit).failing?.retry_after, 7)
  })

  it("is neither warned of nor disabled by its first failures, however short the time", () => {
    const decision = judgeFailing(null, { ...failed, failed: 20 }, 5_000, 0)
    assert.deepEqual(decision, { ...quiet, failing: failing({ attempts: 20 }) })
  })

  it("fails no more after one acknowledgement, whatever failed beside it, and recovers if it was warned of", () => {
    for (const evidence of [acknowledged, { ...failedOften, acknowledged: true }]) {
      const judge = (before: Failing.Failing | null) => judgeFailing(before, evidence, 9_000, limit)
      assert.deepStrictEqual(judge(null), { ...quiet, failing: null })
      assert.deepStrictEqual(judge(failing()), { ...quiet, failing: null })
      assert.deepStrictEqual(judge(failing({ noticed: 1 })), { ...quiet, failing: null, recovered: true })
    }
  })

  it("is warned of by time alone as by an attempt at that time", () => {
    fc.assert(
      fc.property(fc.nat(2 * limit), fc.constantFrom(0, 1, 2, 3), (lasted, noticed) => {
        const before = failing({ noticed })
        const now = before.since + lasted
        const next = warned(before, now, limit)
        const attempts = before.attempts + 1
        assert.deepStrictEqual({ ...(next ?? before), attempts }, judgeFailing(before, failed, now, limit).failing)
        const searched = warnedSince(now, limit)[noticed]
        assert.strictEqual(next !== null, searched !== undefined && before.since <= searched)
      })
    )
  })

  it("stays as it was while nothing is sent to it, however much time passes", () => {
    const unsent = { ...failed, failed: 0 }
    for (const before of [null, failing({ noticed: 1, attempts: 900 })])
      assert.deepStrictEqual(judgeFailing(before, unsent, 900_000, limit), { ...quiet, failing: before })
  })
})
