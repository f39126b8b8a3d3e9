import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { fromStored, toStored } from "../../src/postgres/NulText.ts"

const texts = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom("\0", "\uE000", "0", "a") }))

describe("texts with NUL", () => {
  it("are stored without NUL, and restored unchanged", () => {
    fc.assert(
      fc.property(texts, (text) => {
        assert.notInclude(toStored(text) ?? "", "\0")
        assert.strictEqual(fromStored(toStored(text)), text)
      })
    )
  })

  it("are stored unchanged if they need no escape", () => {
    assert.strictEqual(toStored("Bad Gateway"), "Bad Gateway")
    assert.strictEqual(toStored(null), null)
    assert.strictEqual(fromStored(null), null)
  })
})
