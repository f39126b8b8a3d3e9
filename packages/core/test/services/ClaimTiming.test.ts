import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { ClaimResult } from "../../src/services/dispatch/ClaimTiming.ts"
import { ClaimTiming, grain, horizon, moment, secondLook } from "../../src/services/dispatch/ClaimTiming.ts"

const pollInterval = 1_000
const goodRoom = 100
const plenty = { room: 5_000, hasAppetite: false }
const nothing: ClaimResult = { cutShort: false, nextDue: null }

/** One that looked at a time, and found what it found. */
const looked = (at: number, result = nothing): ClaimTiming => {
  const timing = new ClaimTiming({ pollInterval, goodRoom })
  timing.begin(at)
  timing.end(result)
  return timing
}

describe("ClaimTiming", () => {
  it("looks at once when it never has", () => {
    const timing = new ClaimTiming({ pollInterval, goodRoom })
    assert.isBelow(timing.next(plenty), 0)
  })

  it("goes on at once while claims are cut short and there is good room", () => {
    const timing = looked(5_000, { cutShort: true, nextDue: null })
    assert.strictEqual(timing.next({ room: goodRoom, hasAppetite: false }), 5_000)
    assert.strictEqual(timing.next({ room: goodRoom - 1, hasAppetite: false }), 5_000 + moment)
    assert.strictEqual(timing.next({ room: 0, hasAppetite: false }), 5_000 + pollInterval)
  })

  it("fetches more of what it holds little of", () => {
    const timing = looked(5_000)
    assert.strictEqual(timing.next({ room: goodRoom, hasAppetite: true }), 5_000)
    assert.strictEqual(timing.next({ room: 1, hasAppetite: true }), 5_000 + moment)
  })

  it("looks when the next delivery is due, as the store or a settlement said", () => {
    const timing = looked(5_000, { cutShort: false, nextDue: 5_300 })
    assert.strictEqual(timing.next(plenty), 5_300)
    timing.noteDue(5_100)
    assert.strictEqual(timing.next(plenty), 5_100)
    timing.begin(5_100)
    timing.end({ cutShort: false, nextDue: 5_000 })
    assert.strictEqual(timing.next(plenty), 5_300, "a backlog that is due hides no retry that is known of")
  })

  it("looks a second time for what is due and was taken by nobody here: who has it may fail to send it", () => {
    const timing = new ClaimTiming({ pollInterval: 60_000, goodRoom })
    timing.begin(5_000)
    timing.end({ cutShort: false, nextDue: 5_000 })
    assert.strictEqual(timing.next(plenty), 5_000 + secondLook)
    timing.begin(5_000 + secondLook)
    timing.end(nothing)
    assert.strictEqual(timing.next(plenty), 5_000 + secondLook + 60_000)
  })

  it("asks anew at the horizon for what is due later, however seldom it looks otherwise", () => {
    const timing = new ClaimTiming({ pollInterval: 10 * horizon, goodRoom })
    timing.begin(5_000)
    timing.end({ cutShort: false, nextDue: 5_000 + horizon + 30_000 })
    assert.strictEqual(timing.next(plenty), 5_000 + horizon)
    timing.begin(5_000 + horizon)
    timing.end({ cutShort: false, nextDue: 5_000 + horizon + 30_000 })
    assert.strictEqual(timing.next(plenty), 5_000 + horizon + 30_000)
  })

  it("does not take a claim that never ended for one that left nothing", () => {
    const timing = looked(5_000)
    timing.signal()
    timing.begin(5_500)
    assert.strictEqual(timing.next(plenty), 5_500)
  })

  it("asks again for what is signalled while a claim is under way", () => {
    const timing = looked(5_000)
    timing.signal()
    assert.strictEqual(timing.next(plenty), 5_000 + moment)
    timing.begin(6_000)
    timing.signal()
    timing.end(nothing)
    assert.strictEqual(timing.next(plenty), 6_000 + moment)
  })

  it("never waits longer than the poll interval, nor looks again for little within a moment, nor misses what is due", () => {
    const step = fc.oneof(
      fc.record({
        op: fc.constant("claim" as const),
        cutShort: fc.boolean(),
        nextDue: fc.option(fc.integer({ min: 0, max: 200_000 }))
      }),
      fc.record({ op: fc.constant("due" as const), after: fc.integer({ min: 1, max: 90_000 }) }),
      fc.record({ op: fc.constant("signal" as const) })
    )
    const demands = fc.record({ room: fc.integer({ min: 0, max: 200 }), hasAppetite: fc.boolean() })
    fc.assert(
      fc.property(fc.array(fc.tuple(step, demands, fc.nat({ max: 2_000 })), { maxLength: 40 }), (steps) => {
        let now = 1_000
        let [lookedAt, cutShort, signalled] = [now, false, false]
        let known: Array<number> = []
        const know = (at: number) => {
          if (at > lookedAt && at <= lookedAt + horizon) known.push(at)
        }
        const timing = looked(now)
        for (const [action, demand, pause] of steps) {
          now += pause
          if (action.op === "claim") {
            timing.begin(now)
            timing.end(action)
            ;[lookedAt, cutShort, signalled] = [now, action.cutShort, false]
            known = known.filter((at) => at > now)
            if (action.nextDue !== null) know(action.nextDue > now ? action.nextDue : now + secondLook)
          } else if (action.op === "due") {
            timing.noteDue(now + action.after)
            know(now + action.after)
          } else {
            timing.signal()
            signalled = true
          }
          const at = timing.next(demand)
          assert.isAtMost(at, lookedAt + pollInterval)
          const wanted = cutShort || demand.hasAppetite
          const nothingFits = demand.room === 0
          if (nothingFits) assert.strictEqual(at, lookedAt + pollInterval)
          else if (wanted && demand.room >= goodRoom) assert.strictEqual(at, lookedAt)
          else assert.isAtLeast(at, lookedAt + moment)
          if (!nothingFits) {
            if (signalled || wanted) assert.isAtMost(at, lookedAt + moment)
            for (const due of known) assert.isAtMost(at, Math.max(due + grain, lookedAt + moment))
          }
        }
      })
    )
  })
})
