/**
 * Untrusted texts are shown without characters that control a terminal.
 */
import { assert, describe, it } from "@effect/vitest"
import { escapedJson, onOneLine, shownJson, shownText } from "@doorhook/core"

/**
 * Characters that control a terminal: inside and outside ASCII, line ends, a change of direction, and one with two
 * UTF-16 units.
 */
const steering = ["\u001b", "\u0007", "\u009b", "\u202e", "\u2028", "\u{e0001}"]

describe("a shown text", () => {
  it("is on one line, cut to the given length", () => {
    assert.strictEqual(shownText("a\r\n\u001b[2Jb\u202ec\u0000", 80), "a [2Jb c")
    assert.strictEqual(shownText("abcdef", 3), "abc...")
    assert.strictEqual(shownText(" abc\n", 3), "abc")
  })

  it("keeps its leading blanks", () => {
    assert.strictEqual(onOneLine("  1.  a\u009b2Jb"), "  1.  a 2Jb")
  })

  it("has no characters that control a terminal", () => {
    for (const one of steering) {
      assert.strictEqual(onOneLine(`a${one}b`), "a b")
      assert.notInclude(shownJson({ [one]: one }), one)
    }
  })

  it("has the same value as JSON, on several lines", () => {
    const value = { name: steering.join(""), list: [1, null, "Tür 🚪\n"] }
    assert.deepStrictEqual(JSON.parse(shownJson(value)), value)
    assert.strictEqual(escapedJson('{\r\n\t"a":"\u202e"}'), '{\r\n\t"a":"\\u202e"}')
    assert.strictEqual(shownJson({ a: ["b"] }), JSON.stringify({ a: ["b"] }, null, 2))
  })
})
