/**
 * docs/security.md names tests for each defence, and docs/guarantees.md for each guarantee. All these tests must exist
 * under the names given there.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { missing, pathOf } from "./NamedTests.ts"
import type { NamedTest } from "./NamedTests.ts"

/** Reads a page, or the part between two headings. */
const read = (file: string, from = "", to = ""): string => {
  const text = readFileSync(pathOf(file), "utf8")
  return text.slice(text.indexOf(from), to === "" ? undefined : text.indexOf(to))
}

/** Finds links to test files, and to files of cases that tests run. The text of a link is the name of a test. */
const testsIn = (text: string): ReadonlyArray<NamedTest> =>
  [...text.matchAll(/\[([^\]]+)\]\(\.\.\/([^)]+(?:\.test|Cases)\.ts)\)/g)].map(
    ([, name = "", file = ""]): NamedTest => [file, name]
  )

/** The rows of all tables, without their headers. */
const rowsIn = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .filter(
      (line, at, lines) => line.startsWith("|") && !line.startsWith("|---") && !(lines[at + 1] ?? "").startsWith("|---")
    )

const pages = [
  {
    file: "docs/security.md",
    tables: read("docs/security.md", "## Attacks and defences", "## Where secrets are compared"),
    least: 40
  },
  { file: "docs/guarantees.md", tables: read("docs/guarantees.md"), least: 15 }
]

describe.each(pages)("$file", ({ file, least, tables }) => {
  it("names tests that exist", () => {
    const tests = testsIn(read(file))
    assert.isAbove(tests.length, least)
    assert.deepStrictEqual(missing(tests), [])
  })

  it("names a test in every row of its tables", () => {
    const rows = rowsIn(tables)
    assert.isAbove(rows.length, least)
    assert.deepStrictEqual(
      rows.filter((row) => testsIn(row).length === 0),
      []
    )
  })
})

describe("a test that does not exist", () => {
  it("is reported as missing", () => {
    assert.lengthOf(missing([["packages/server/test/security/NamedTests.ts", "no such test"]]), 1)
    assert.lengthOf(missing([["packages/none.test.ts", "x"]]), 1)
  })
})
