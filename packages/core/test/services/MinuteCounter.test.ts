import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMinuteCounter } from "../../src/services/MinuteCounter.ts"

describe("what is counted by the minute", () => {
  it.effect("begins anew with the next minute, and when the clock was set back", () =>
    Effect.gen(function* () {
      const counted = makeMinuteCounter()
      yield* TestClock.setTime(3_600_000)
      yield* counted("a")
      assert.deepStrictEqual(yield* counted("a"), { count: 2, seconds: 60 })
      yield* TestClock.setTime(3_659_999)
      assert.deepStrictEqual(yield* counted("a"), { count: 3, seconds: 1 })
      yield* TestClock.setTime(3_660_000)
      assert.deepStrictEqual(yield* counted("a"), { count: 1, seconds: 60 })
      yield* TestClock.setTime(1_000)
      assert.deepStrictEqual(yield* counted("a"), { count: 1, seconds: 60 })
    })
  )
})
