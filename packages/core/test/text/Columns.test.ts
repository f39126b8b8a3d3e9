/**
 * In tables, the cells of a column are aligned, and nothing is cut off.
 */
import { assert, describe, it } from "@effect/vitest"
import { columns } from "@doorhook/core"
import fc from "fast-check"

describe("columns", () => {
  it("are as wide as their longest cell, with numbers right-aligned and last cells of any length", () => {
    const rows = [
      ["dlv_1", "9", "acknowledged 200"],
      ["dlv_1234", "1,234", ""],
      ["in all", "a row of fewer cells widens nothing"]
    ]
    assert.deepStrictEqual(columns(rows, [1]), [
      "dlv_1         9  acknowledged 200",
      "dlv_1234  1,234",
      "in all    a row of fewer cells widens nothing"
    ])
  })

  it("keep every cell, without trailing blanks, and each column starts at the same position", () => {
    const word = fc.stringMatching(/^[a-z]{1,9}$/)
    const table = fc
      .integer({ min: 1, max: 5 })
      .chain((width) => fc.array(fc.array(word, { minLength: width, maxLength: width }), { maxLength: 8 }))
    fc.assert(
      fc.property(table, (rows) => {
        const lines = columns(rows)
        assert.deepStrictEqual(
          lines.map((line) => line.split(/ {2,}/)),
          rows
        )
        const beginnings = lines.map((line) => [...line.matchAll(/(?<=^| )[a-z]/g)].map(({ index }) => index).join())
        assert.isAtMost(new Set(beginnings).size, 1)
      })
    )
  })
})
