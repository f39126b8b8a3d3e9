import { deliverySettingsOf } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

describe("delivery settings", () => {
  it("refuse a poll interval that would make the claim loop run without a pause", () => {
    const problemOf = (pollInterval: number) => {
      const read = deliverySettingsOf({ pollInterval })
      return Result.isFailure(read) ? read.failure.message : null
    }
    for (const pollInterval of [0, -1])
      assert.strictEqual(problemOf(pollInterval), "/pollInterval: must be more than 0")
    assert.isNull(problemOf(1))
  })
})
