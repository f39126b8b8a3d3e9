/**
 * Quoted words of printed commands.
 */
import { assert, describe, it } from "@effect/vitest"
import { Shell } from "@doorhook/core"
import { wordsOf } from "@doorhook/testkit/Bash"
import * as fc from "fast-check"

describe("a quoted word", () => {
  it("is read back unchanged by a shell, whatever the word and the locale", () => {
    // Words can't contain NUL, and UTF-8 has no lone surrogates. A single shell reads all words, because starting a
    // shell is slow.
    const words = fc
      .sample(fc.string({ unit: "binary" }), 400)
      .map((text) => text.replaceAll("\u0000", "").toWellFormed())
    const command = words.map(Shell.quote).join(" ")
    for (const locale of ["C", "C.UTF-8"]) assert.deepStrictEqual(wordsOf(command, locale), words, locale)
    assert.match(command, /^[\x20-\x7e]*$/)
  })
})
