import { Failing } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"

const { defaultDisableAfter, judgeFailing, noticeShares, warned, warnedSince } = Failing

/** The time that an integration may fail here. */
const limit = 1_000
const acknowledged = { acknowledged: true, failed: false }
const failed = { acknowledged: false, failed: true }
const quiet = { notice: false, disable: false, recovered: false }

/** Attempts of one integration, each so long after the one before; most of them fail. */
const attempts = fc.array(
  fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: limit / 2 }), fc.constantFrom(limit / 2, limit - 1, limit)),
    evidence: fc.constantFrom(failed, failed, failed, failed, acknowledged)
  }),
  { minLength: 1, maxLength: 30 }
)

describe("an integration that fails", () => {
  it("has three days, unless settings say otherwise", () => {
    assert.strictEqual(defaultDisableAfter, 72 * 3_600_000)
  })

  it("is disabled by a failure when its time has passed since the first one after the last acknowledgement, never before", () => {
    fc.assert(
      fc.property(attempts, (made) => {
        let failing: Failing.Failing | null = null
        let now = 0
        let firstFailure: number | null = null
        for (const { after, evidence } of made) {
          now += after
          const decision = judgeFailing(failing, evidence, now, limit)
          const since: number = firstFailure ?? now
          assert.strictEqual(decision.disable, evidence.failed && now - since >= limit)
          firstFailure = evidence.acknowledged ? null : since
          failing = decision.failing
          assert.strictEqual(failing?.since ?? null, firstFailure)
        }
      })
    )
  })

  it("is told of at most three times before it is disabled, with growing shares of the time passed", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 }), (gaps) => {
        let failing: Failing.Failing | null = null
        let now = 0
        const told: Array<number> = []
        for (const gap of gaps) {
          const decision: Failing.FailingDecision = judgeFailing(failing, failed, now, limit)
          if (decision.disable) break
          if (decision.notice) told.push(now / limit)
          failing = decision.failing
          now += gap
        }
        assert.isAtMost(told.length, 3)
        told.forEach((share, index) => assert.isAtLeast(share, noticeShares[index] ?? 1))
      })
    )
  })

  // Since 5,000, of 1,000.
  it.each([
    ["nothing yet", 5_499, 0, { noticed: 0 }],
    ["once, at half of its time", 5_500, 0, { noticed: 1, notice: true }],
    ["nothing new within the same share", 5_699, 1, { noticed: 1 }],
    ["again at 70 %", 5_700, 1, { noticed: 2, notice: true }],
    ["again at 90 %", 5_900, 2, { noticed: 3, notice: true }],
    ["nothing new until the end", 5_999, 3, { noticed: 3 }],
    ["once, when it passed several shares unseen", 5_950, 0, { noticed: 3, notice: true }],
    ["that it is disabled, at the end", 6_000, 3, { noticed: 3, disable: true }],
    ["only that it is disabled, when all passed unseen", 9_000, 0, { noticed: 3, disable: true }],
    ["nothing twice, when it was given more time meanwhile", 5_100, 2, { noticed: 2 }]
  ] as const)("is told of: %s", (_, now, told, { noticed, ...decided }) => {
    const decision = judgeFailing({ since: 5_000, noticed: told }, failed, now, limit)
    assert.deepStrictEqual(decision, { ...quiet, ...decided, failing: { since: 5_000, noticed } })
  })

  it("is neither told of nor disabled by its first failure, however short the time", () => {
    const decision = judgeFailing(null, failed, 5_000, 0)
    assert.deepInclude(decision, quiet)
    assert.strictEqual(decision.failing?.since, 5_000)
  })

  it("fails no more after one acknowledgement, whatever failed beside it, and recovers if it was told of", () => {
    for (const evidence of [acknowledged, { acknowledged: true, failed: true }]) {
      const judge = (before: Failing.Failing | null) => judgeFailing(before, evidence, 9_000, limit)
      assert.deepStrictEqual(judge(null), { ...quiet, failing: null })
      assert.deepStrictEqual(judge({ since: 5_000, noticed: 0 }), { ...quiet, failing: null })
      assert.deepStrictEqual(judge({ since: 5_000, noticed: 1 }), { ...quiet, failing: null, recovered: true })
    }
  })

  it("is told of by time alone what an attempt at that time would tell", () => {
    fc.assert(
      fc.property(fc.nat(2 * limit), fc.constantFrom(0, 1, 2, 3), (lasted, noticed) => {
        const failing = { since: 5_000, noticed }
        const now = failing.since + lasted
        const told = warned(failing, now, limit)
        assert.deepStrictEqual(told ?? failing, judgeFailing(failing, failed, now, limit).failing)
        const searched = warnedSince(now, limit)[noticed]
        assert.strictEqual(told !== null, searched !== undefined && failing.since <= searched)
      })
    )
  })

  it("stays as it was while nothing is sent to it, however much time passes", () => {
    const unsent = { acknowledged: false, failed: false }
    for (const before of [null, { since: 5_000, noticed: 1 }])
      assert.deepStrictEqual(judgeFailing(before, unsent, 900_000, limit), { ...quiet, failing: before })
  })
})
