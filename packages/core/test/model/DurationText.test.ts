import { assert, describe, it } from "@effect/vitest"
import { DurationText } from "@doorhook/core"
import { Option, Result } from "effect"
import fc from "fast-check"

describe("DurationText", () => {
  it("reads back what it writes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DurationText.longest }), (millis) => {
        assert.deepStrictEqual(DurationText.parse(DurationText.format(millis)), Option.some(millis))
      })
    )
  })

  it.each([
    ["300ms", 300],
    ["5s", 5_000],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["3d", 259_200_000],
    ["1.5s", 1_500],
    ["0s", 0]
  ])("reads %s as %d ms", (text, millis) => {
    assert.deepStrictEqual(DurationText.parse(text), Option.some(millis))
  })

  it.each(["", "5", "s", "-5s", "5 s", "5sec", "1h30m", "1e3s", "999999999999d"])("refuses %j", (text) => {
    assert.isTrue(Option.isNone(DurationText.parse(text)))
  })

  it("reports whether a text is not a duration or is too long", () => {
    assert.deepStrictEqual(DurationText.read("soon"), Result.fail(DurationText.expected))
    assert.deepStrictEqual(DurationText.read("3650d"), Result.succeed(DurationText.longest))
    for (const text of ["3651d", "99999999d", "315360000001ms"])
      assert.deepStrictEqual(DurationText.read(text), Result.fail("a duration of at most 3650d"))
  })

  it.each([
    [0, "0ms"],
    [90_000, "90s"],
    [120_000, "2m"],
    [86_400_000, "1d"],
    [1_500, "1500ms"]
  ])("writes %d ms as %s", (millis, text) => {
    assert.strictEqual(DurationText.format(millis), text)
  })
})
