import { assert, describe, it } from "@effect/vitest"
import { Acknowledgement } from "@doorhook/core"
import fc from "fast-check"

const answered = (status: number, headers_elapsed: number) =>
  ({ _tag: "Answered", status, headers_elapsed, retry_after: null, excerpt: "", elapsed: headers_elapsed }) as const

describe("Acknowledgement", () => {
  it("acknowledges by 200 within the deadline and by nothing else", () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), fc.integer({ min: 0, max: 10_000 }), (status, elapsed) => {
        const outcome = Acknowledgement.judge(answered(status, elapsed), 5_000, "200")
        const expected = status !== 200 ? "bad_status" : elapsed <= 5_000 ? "acknowledged" : "timeout"
        assert.strictEqual(outcome, expected)
      })
    )
  })

  it("accepts any 2xx where an integration asks for that", () => {
    assert.strictEqual(Acknowledgement.judge(answered(204, 10), 5_000, "2xx"), "acknowledged")
    assert.strictEqual(Acknowledgement.judge(answered(302, 10), 5_000, "2xx"), "bad_status")
  })

  it("passes the reason of a failure on", () => {
    const failed = { _tag: "Failed", outcome: "dns", detail: "", elapsed: 1 } as const
    assert.strictEqual(Acknowledgement.judge(failed, 5_000, "200"), "dns")
  })
})
