import { assert, describe, it } from "@effect/vitest"
import type { Sample } from "../../src/ui/History.ts"
import { betweenOf, minutesOf } from "../../src/ui/History.ts"

/**
 * Counts since the start of a process, with two events, three acknowledged attempts and one failed attempt per second.
 */
const at = (seconds: number): Sample => ({
  at: seconds * 1_000,
  events_accepted: 2 * seconds,
  attempts: { acknowledged: 3 * seconds, timeout: seconds },
  latency: {
    count: 3 * seconds,
    buckets: [
      [10, seconds],
      [20, 3 * seconds],
      [Number.POSITIVE_INFINITY, 3 * seconds]
    ]
  }
})

const samples = (until: number) => Array.from({ length: until / 10 + 1 }, (_, index) => at(index * 10))

describe("the last hour", () => {
  it("consists of whole minutes, oldest first, up to now", () => {
    assert.deepStrictEqual(minutesOf(samples(50)), [])
    assert.deepStrictEqual(minutesOf(samples(150)), [
      { at: 90_000, events: 120, acknowledged: 180, failed: 60 },
      { at: 150_000, events: 120, acknowledged: 180, failed: 60 }
    ])
    assert.strictEqual(minutesOf(samples(7_200)).length, 60)
  })
})

describe("the last minute", () => {
  it("has its own rates, failures and latencies", () => {
    const { attempts, events, failures, latency, seconds } = betweenOf(at(100), at(160))
    assert.deepStrictEqual([seconds, events, attempts], [60, 120, 240])
    assert.deepStrictEqual(failures, [["timeout", 60]])
    assert.deepStrictEqual([latency(1 / 3), latency(0.5), latency(1)], [10, 12.5, 20])
  })

  it("has no latency without an acknowledgement", () => {
    assert.isNull(betweenOf(at(100), at(100)).latency(0.5))
  })
})
