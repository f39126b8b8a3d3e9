import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { ClaimResult } from "../../src/delivery/ClaimTimer.ts"
import { ClaimTimer } from "../../src/delivery/ClaimTimer.ts"
import { minPollInterval, recheckDelay } from "../../src/delivery/EngineConstants.ts"

const pollInterval = 1_000
const minBatch = 100
const plenty = { room: 5_000, needsRefill: false }
const nothing: ClaimResult = { isCutShort: false, nextDue: null }

/** Makes a timer after one claim with the given result. */
const looked = (at: number, result = nothing): ClaimTimer => {
  const timer = new ClaimTimer({ pollInterval, minBatch })
  timer.begin(at)
  timer.end(result)
  return timer
}

describe("ClaimTimer", () => {
  it("claims immediately at the start", () => {
    const timer = new ClaimTimer({ pollInterval, minBatch })
    assert.isBelow(timer.next(plenty), 0)
  })

  it("claims again immediately while claims are cut short and there is enough room", () => {
    const timer = looked(5_000, { isCutShort: true, nextDue: null })
    assert.strictEqual(timer.next({ room: minBatch, needsRefill: false }), 5_000)
    assert.strictEqual(timer.next({ room: minBatch - 1, needsRefill: false }), 5_000 + minPollInterval)
    assert.strictEqual(timer.next({ room: 0, needsRefill: false }), 5_000 + pollInterval)
  })

  it("claims more for integrations with few held deliveries", () => {
    const timer = looked(5_000)
    assert.strictEqual(timer.next({ room: minBatch, needsRefill: true }), 5_000)
    assert.strictEqual(timer.next({ room: 1, needsRefill: true }), 5_000 + minPollInterval)
  })

  it("claims when the next delivery is due, as reported by the store or a settlement", () => {
    const timer = looked(5_000, { isCutShort: false, nextDue: 5_300 })
    assert.strictEqual(timer.next(plenty), 5_300)
    timer.begin(5_100)
    timer.end({ isCutShort: false, nextDue: 5_000 })
    assert.strictEqual(timer.next(plenty), 5_300, "a backlog that is due hides no retry that is known of")
    timer.noteDue(5_200)
    assert.strictEqual(timer.next(plenty), 5_200)
  })

  it("claims again for due deliveries left in the store, which another worker may fail to send", () => {
    const timer = new ClaimTimer({ pollInterval: 60_000, minBatch })
    timer.begin(5_000)
    timer.end({ isCutShort: false, nextDue: 5_000 })
    assert.strictEqual(timer.next(plenty), 5_000 + recheckDelay)
    timer.begin(5_000 + recheckDelay)
    timer.end(nothing)
    assert.strictEqual(timer.next(plenty), 5_000 + recheckDelay + 60_000)
  })

  it("treats a due time in a month like one in a minute", () => {
    const pollInterval = 60 * 24 * 3_600_000
    const timer = new ClaimTimer({ pollInterval, minBatch })
    timer.begin(5_000)
    timer.end({ isCutShort: false, nextDue: 5_000 + pollInterval / 2 })
    assert.strictEqual(timer.next(plenty), 5_000 + pollInterval / 2)
  })

  it("does not assume that an unfinished claim has left nothing", () => {
    const timer = looked(5_000)
    timer.signal()
    timer.begin(5_500)
    assert.strictEqual(timer.next(plenty), 5_500)
  })

  it("claims again after a signal during a claim", () => {
    const timer = looked(5_000)
    timer.signal()
    assert.strictEqual(timer.next(plenty), 5_000 + minPollInterval)
    timer.begin(6_000)
    timer.signal()
    timer.end(nothing)
    assert.strictEqual(timer.next(plenty), 6_000 + minPollInterval)
  })

  it("never waits longer than the poll interval, makes no small claims in quick succession, and misses no due delivery", () => {
    const step = fc.oneof(
      fc.record({
        op: fc.constant("claim" as const),
        isCutShort: fc.boolean(),
        nextDue: fc.option(fc.integer({ min: 0, max: 200_000 }))
      }),
      fc.record({ op: fc.constant("due" as const), after: fc.integer({ min: 1, max: 90_000 }) }),
      fc.record({ op: fc.constant("signal" as const) })
    )
    const demands = fc.record({ room: fc.integer({ min: 0, max: 200 }), needsRefill: fc.boolean() })
    fc.assert(
      fc.property(fc.array(fc.tuple(step, demands, fc.nat({ max: 2_000 })), { maxLength: 40 }), (steps) => {
        let now = 1_000
        let [lookedAt, isCutShort, signalled] = [now, false, false]
        /** Earliest due time among the known deliveries. */
        let known = Number.POSITIVE_INFINITY
        const timer = looked(now)
        for (const [action, demand, pause] of steps) {
          now += pause
          if (action.op === "claim") {
            timer.begin(now)
            timer.end(action)
            ;[lookedAt, isCutShort, signalled] = [now, action.isCutShort, false]
            if (known <= now) known = Number.POSITIVE_INFINITY
            if (action.nextDue !== null)
              known = Math.min(known, action.nextDue > now ? action.nextDue : now + recheckDelay)
          } else if (action.op === "due") {
            timer.noteDue(now + action.after)
            known = Math.min(known, now + action.after)
          } else {
            timer.signal()
            signalled = true
          }
          const at = timer.next(demand)
          assert.isAtMost(at, lookedAt + pollInterval)
          const wanted = isCutShort || demand.needsRefill
          const nothingFits = demand.room === 0
          if (nothingFits) assert.strictEqual(at, lookedAt + pollInterval)
          else if (wanted && demand.room >= minBatch) assert.strictEqual(at, lookedAt)
          else assert.isAtLeast(at, lookedAt + minPollInterval)
          if (!nothingFits) {
            if (signalled || wanted) assert.isAtMost(at, lookedAt + minPollInterval)
            assert.isAtMost(at, Math.max(known, lookedAt + minPollInterval))
          }
        }
      })
    )
  })
})
