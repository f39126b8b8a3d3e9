import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { fromStored, toStored } from "../../src/postgres/NulText.ts"

const texts = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom("\0", "\uE000", "0", "a") }))

describe("texts that may hold NUL", () => {
  it("are stored without, and come back as they were", () => {
    fc.assert(
      fc.property(texts, (text) => {
        assert.notInclude(toStored(text) ?? "", "\0")
        assert.strictEqual(fromStored(toStored(text)), text)
      })
    )
  })

  it("are readable where there is nothing to hide", () => {
    assert.strictEqual(toStored("Bad Gateway"), "Bad Gateway")
    assert.strictEqual(toStored(null), null)
    assert.strictEqual(fromStored(null), null)
  })
})
