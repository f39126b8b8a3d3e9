import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { ClaimResult } from "../../src/delivery/ClaimTimer.ts"
import { ClaimTimer, minPollInterval, recheckDelay } from "../../src/delivery/ClaimTimer.ts"

const pollInterval = 1_000
const minBatch = 100
const plenty = { room: 5_000, needsRefill: false }
const nothing: ClaimResult = { isCutShort: false, nextDue: null }

/** One that looked at a time, and found what it found. */
const looked = (at: number, result = nothing): ClaimTimer => {
  const timer = new ClaimTimer({ pollInterval, minBatch })
  timer.begin(at)
  timer.end(result)
  return timer
}

describe("ClaimTimer", () => {
  it("looks at once when it never has", () => {
    const timer = new ClaimTimer({ pollInterval, minBatch })
    assert.isBelow(timer.next(plenty), 0)
  })

  it("goes on at once while claims are cut short and there is good room", () => {
    const timer = looked(5_000, { isCutShort: true, nextDue: null })
    assert.strictEqual(timer.next({ room: minBatch, needsRefill: false }), 5_000)
    assert.strictEqual(timer.next({ room: minBatch - 1, needsRefill: false }), 5_000 + minPollInterval)
    assert.strictEqual(timer.next({ room: 0, needsRefill: false }), 5_000 + pollInterval)
  })

  it("fetches more of what it holds little of", () => {
    const timer = looked(5_000)
    assert.strictEqual(timer.next({ room: minBatch, needsRefill: true }), 5_000)
    assert.strictEqual(timer.next({ room: 1, needsRefill: true }), 5_000 + minPollInterval)
  })

  it("looks when the next delivery is due, as the store or a settlement said", () => {
    const timer = looked(5_000, { isCutShort: false, nextDue: 5_300 })
    assert.strictEqual(timer.next(plenty), 5_300)
    timer.begin(5_100)
    timer.end({ isCutShort: false, nextDue: 5_000 })
    assert.strictEqual(timer.next(plenty), 5_300, "a backlog that is due hides no retry that is known of")
    timer.noteDue(5_200)
    assert.strictEqual(timer.next(plenty), 5_200)
  })

  it("looks a second time for what is due and was taken by nobody here: who has it may fail to send it", () => {
    const timer = new ClaimTimer({ pollInterval: 60_000, minBatch })
    timer.begin(5_000)
    timer.end({ isCutShort: false, nextDue: 5_000 })
    assert.strictEqual(timer.next(plenty), 5_000 + recheckDelay)
    timer.begin(5_000 + recheckDelay)
    timer.end(nothing)
    assert.strictEqual(timer.next(plenty), 5_000 + recheckDelay + 60_000)
  })

  it("waits for what is due in a month as for what is due in a minute", () => {
    const pollInterval = 60 * 24 * 3_600_000
    const timer = new ClaimTimer({ pollInterval, minBatch })
    timer.begin(5_000)
    timer.end({ isCutShort: false, nextDue: 5_000 + pollInterval / 2 })
    assert.strictEqual(timer.next(plenty), 5_000 + pollInterval / 2)
  })

  it("does not take a claim that never ended for one that left nothing", () => {
    const timer = looked(5_000)
    timer.signal()
    timer.begin(5_500)
    assert.strictEqual(timer.next(plenty), 5_500)
  })

  it("asks again for what is signalled while a claim is under way", () => {
    const timer = looked(5_000)
    timer.signal()
    assert.strictEqual(timer.next(plenty), 5_000 + minPollInterval)
    timer.begin(6_000)
    timer.signal()
    timer.end(nothing)
    assert.strictEqual(timer.next(plenty), 6_000 + minPollInterval)
  })

  it("never waits longer than the poll interval, nor looks again for little within a moment, nor misses what is due", () => {
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
        /** The first delivery that is known to become due. */
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
