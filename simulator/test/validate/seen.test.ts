/**
 * What has come before is known, in however many sets it is held.
 */
import { assert, it } from "@effect/vitest"
import { Seen } from "../../src/validate/Seen.ts"

it("knows what has come before, also beyond what one set holds", () => {
  const seen = new Seen(3)
  const texts = Array.from({ length: 10 }, (_, number) => `access_log ${number}`)
  assert.deepStrictEqual(new Set(texts.map((text) => seen.again(text))), new Set([false]))
  assert.deepStrictEqual(new Set(texts.map((text) => seen.again(text))), new Set([true]))
})
