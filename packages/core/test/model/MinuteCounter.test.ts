import { assert, describe, it } from "@effect/vitest"
import { makeMinuteCounter } from "../../src/model/MinuteCounter.ts"

describe("a counter by minute", () => {
  it("starts again with the next minute, or if the clock is set back", () => {
    const counted = makeMinuteCounter()
    counted("a", 3_600_000)
    assert.deepStrictEqual(counted("a", 3_600_000), { count: 2, seconds: 60 })
    assert.deepStrictEqual(counted("a", 3_659_999), { count: 3, seconds: 1 })
    assert.deepStrictEqual(counted("a", 3_660_000), { count: 1, seconds: 60 })
    assert.deepStrictEqual(counted("a", 1_000), { count: 1, seconds: 60 })
  })
})
