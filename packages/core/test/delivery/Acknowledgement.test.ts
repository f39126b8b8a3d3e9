import { assert, describe, it } from "@effect/vitest"
import { Acknowledgement } from "@doorhook/core"
import fc from "fast-check"

const answered = (status: number, headers_elapsed: number) =>
  ({ _tag: "Answered", status, headers_elapsed, retry_after: null, excerpt: "", elapsed: headers_elapsed }) as const

describe("Acknowledgement", () => {
  const statuses = fc.oneof(fc.constant(200), fc.integer({ min: 100, max: 599 }))
  const times = fc.oneof(fc.constantFrom(5_000, 5_001), fc.integer({ min: 0, max: 10_000 }))

  it("accepts only status 200 within the deadline", () => {
    fc.assert(
      fc.property(statuses, times, (status, elapsed) => {
        const outcome = Acknowledgement.judge(answered(status, elapsed), Acknowledgement.defaultDeadline, "200")
        const expected = status !== 200 ? "bad_status" : elapsed <= 5_000 ? "acknowledged" : "timeout"
        assert.strictEqual(outcome, expected)
      })
    )
  })

  it.each([
    [199, "bad_status"],
    [200, "acknowledged"],
    [204, "acknowledged"],
    [299, "acknowledged"],
    [300, "bad_status"]
  ] as const)("where an integration asks for any 2xx, takes %i for %s", (status, expected) => {
    assert.strictEqual(Acknowledgement.judge(answered(status, 5_000), 5_000, "2xx"), expected)
    assert.strictEqual(Acknowledgement.judge(answered(204, 5_001), 5_000, "2xx"), "timeout")
  })

  it("returns the outcome of a failure", () => {
    const failed = { _tag: "Failed", outcome: "dns", detail: "", elapsed: 1 } as const
    assert.strictEqual(Acknowledgement.judge(failed, 5_000, "200"), "dns")
  })
})
