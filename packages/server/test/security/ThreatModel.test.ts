/**
 * docs/security.md names a test for each defence: each must be there, under that name.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { missing, pathOf } from "./NamedTests.ts"
import type { NamedTest } from "./NamedTests.ts"

const page = readFileSync(pathOf("docs/security.md"), "utf8")

/** The links to tests, and to cases of suites that tests run; their texts are the tests' names. */
const tests = [...page.matchAll(/\[([^\]]+)\]\(\.\.\/([^)]+(?:\.test|Cases)\.ts)\)/g)].map(
  ([, name = "", file = ""]): NamedTest => [file, name]
)

/** The rows of the tables of attacks. */
const rows = page
  .slice(page.indexOf("## Attacks and defences"), page.indexOf("## Where secrets are compared"))
  .split("\n")
  .filter((line) => line.startsWith("|") && !/^\|(?: attack \||---)/.test(line))

describe("docs/security.md", () => {
  it("names tests that exist", () => {
    assert.isAbove(tests.length, 60)
    assert.deepStrictEqual(missing(tests), [])
  })

  it("names one for every attack", () => {
    assert.isAbove(rows.length, 40)
    assert.deepStrictEqual(
      rows.filter((row) => !/(?:\.test|Cases)\.ts\)/.test(row)),
      []
    )
  })

  it("would miss one that is not there", () => {
    assert.lengthOf(missing([["packages/server/test/security/NamedTests.ts", "no such test"]]), 1)
    assert.lengthOf(missing([["packages/none.test.ts", "x"]]), 1)
  })
})
