import type { DeliverySettingsOverrides } from "@doorhook/core"
import { deliverySettingsOf } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

const problemOf = (settings: DeliverySettingsOverrides) => {
  const read = deliverySettingsOf(settings)
  return Result.isFailure(read) ? read.failure.message : null
}

describe("delivery settings", () => {
  it("refuse a poll interval that would make the claim loop run without a pause", () => {
    for (const pollInterval of [0, -1])
      assert.strictEqual(problemOf({ pollInterval }), "/pollInterval: must be more than 0")
    assert.isNull(problemOf({ pollInterval: 1 }))
  })

  it("refuse a lease that would make the heartbeat run nearly without a pause", () => {
    for (const lease of [10_000, 10_001, 10_099])
      assert.match(problemOf({ lease }) ?? "", /^\/lease: must be more than ackTimeout \(5s\).* Use at least 10100ms$/)
    assert.isNull(problemOf({ lease: 10_100 }))
  })
})
