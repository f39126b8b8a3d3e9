import { assert, describe, it } from "@effect/vitest"
import { isoOf, latest } from "@doorhook/core"

describe("a time on the wire", () => {
  it.each([
    [0, "1970-01-01T00:00:00.000Z"],
    [latest, "+275760-09-13T00:00:00.000Z"],
    [latest + 1, "+275760-09-13T00:00:00.000Z"],
    [1.2 * latest, "+275760-09-13T00:00:00.000Z"]
  ])("is written, %d as %s", (millis, text) => {
    assert.strictEqual(isoOf(millis), text)
  })
})
