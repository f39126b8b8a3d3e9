import { assert, describe, it } from "@effect/vitest"
import { InvalidInput } from "@doorhook/core"

const message = (...problems: Parameters<typeof InvalidInput.of>[1]) => InvalidInput.of("Invalid", problems)?.message

describe("invalid input", () => {
  it("names each problem after its place", () => {
    assert.strictEqual(
      message({ pointer: "/name", detail: "must not be empty" }, { pointer: "", detail: "is too long" }),
      "/name: must not be empty; is too long"
    )
    assert.strictEqual(
      message(
        { pointer: "/data", detail: "Must be an object.", code: "invalid", title: "Invalid value" },
        { pointer: "/data", detail: "Must be there.", code: "blank", title: "Missing member" }
      ),
      "/data: Must be an object. /data: Must be there."
    )
  })

  it("does not exist without a problem", () => {
    assert.isNull(InvalidInput.of("Invalid", []))
  })
})
