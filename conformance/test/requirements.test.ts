/**
 * The catalogue: every requirement is in a file of its own name, and every file is listed.
 */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync } from "node:fs"
import { readFileSync } from "node:fs"
import { defaultTerms } from "../src/checks/Terms.ts"
import { History } from "../src/history/History.ts"
import { inWords } from "../src/history/Words.ts"
import { requirements } from "../src/requirements/index.ts"
import type { Requirement } from "../src/requirements/Requirement.ts"
import { everyDirectedCase } from "../src/requirements/Requirement.ts"
import { matches, select } from "../src/requirements/Selection.ts"
import { requirementsPage } from "../src/requirements/Table.ts"
import { version } from "../src/Suite.ts"
import { Schema } from "effect"

/** The ids of the catalogue that this version must have. */
const catalogue = [
  "R-ACK-01",
  "R-ACK-02",
  "R-ACK-03",
  "R-ACK-04",
  "R-ACK-05",
  "R-DUP-01",
  "R-DUP-02",
  "R-DUP-03",
  "R-DUP-04",
  "R-DUP-05",
  "R-DUP-06",
  "R-DUP-07",
  "R-DUP-08",
  "R-NEW-01",
  "R-LOS-01",
  "R-LOS-02",
  "R-LOS-03",
  "R-LATE-01",
  "R-LATE-02",
  "R-LATE-03",
  "R-CRA-01",
  "R-CRA-02",
  "R-CRA-03",
  "R-CRA-04",
  "R-ORD-01",
  "R-FWD-01",
  "R-FWD-02",
  "R-HTTP-01",
  "R-HTTP-02",
  "R-HTTP-03",
  "R-HTTP-04",
  "R-HTTP-05",
  "R-HTTP-06",
  "R-HTTP-07",
  "R-HTTP-08",
  "R-HTTP-09",
  "R-SIG-01",
  "R-SIG-02",
  "R-SIG-03",
  "R-SIG-04",
  "R-SIG-05",
  "R-SIG-06",
  "R-SIG-07",
  "R-SIG-08",
  "R-SIG-09",
  "R-GET-01"
]

const folder = new URL("../src/requirements/", import.meta.url)

/** Whether a check asks for the effects of an event that was sent, and of nothing else. */
const looksAtEffects = ({ check }: Requirement): boolean => {
  let asked = false
  check(
    {
      history: { v: 1, ops: [] },
      events: [
        { webhookId: "evt_1", resourceType: "call", dataId: "7", documented: true, digest: "sha256:00", bulk: false }
      ],
      attempts: [],
      interventions: [],
      shortfalls: [],
      get effects() {
        asked = true
        return []
      },
      effectsElsewhere: []
    },
    defaultTerms
  )
  return asked
}

describe("requirements", () => {
  it("say that effects have a say in them where their check looks at effects", () => {
    const saying = requirements.filter(({ needs, provenBy }) =>
      [...needs, ...provenBy].some((need) => need === "effects" || need === "digest")
    )
    assert.deepStrictEqual(
      requirements.filter(looksAtEffects).map(({ id }) => id),
      saying.map(({ id }) => id)
    )
  })

  it("none of the catalogue is unhandled", () => {
    assert.deepStrictEqual(
      requirements.map(({ id }) => id),
      catalogue
    )
  })

  it("every file is listed, under its own name", () => {
    const files = readdirSync(folder).filter((name) => /^[RI]-/.test(name))
    assert.sameMembers(
      files,
      requirements.map(({ id }) => `${id}.ts`)
    )
    for (const { id } of requirements) assert.include(readFileSync(new URL(`${id}.ts`, folder), "utf8"), `id: "${id}"`)
  })

  it.each(requirements)("$id says all there is to say, in data that can be stored", (requirement) => {
    assert.match(requirement.statement, /\.$/)
    assert.match(requirement.because, /\.$/)
    assert.isNotEmpty(requirement.source)
    assert.isNotEmpty(requirement.expected(defaultTerms))
    assert.isNotEmpty(requirement.directed)
    for (const { history } of everyDirectedCase(requirement)) {
      const stored: unknown = JSON.parse(JSON.stringify(history))
      assert.deepStrictEqual(Schema.decodeUnknownSync(History)(stored), history)
      assert.strictEqual(inWords(history.ops).length, history.ops.length)
      assert.notMatch(JSON.stringify(history), /evt_/, "ids are minted at execution and never stored")
    }
  })
})

it("the page of requirements in docs is made from them", () => {
  const page = readFileSync(new URL("../../docs/requirements.md", import.meta.url), "utf8")
  assert.strictEqual(page, requirementsPage(), "run conformance/src/requirements/print.ts and write its output there")
})

describe("selection", () => {
  it("takes ids and patterns in any case", () => {
    assert.isTrue(matches("R-DUP-01", "R-DUP-01"))
    assert.isTrue(matches("R-DUP-01", "r-dup-*"))
    assert.isTrue(matches("R-DUP-01", "*01"))
    assert.isFalse(matches("R-DUP-01", "R-DUP"))
    assert.isFalse(matches("R-DUP-01", "R.DUP.01"))
  })

  it("knows all, some, and what is left out of some", () => {
    const idsOf = (
      only: ReadonlyArray<string>,
      skip: ReadonlyArray<string>
    ): readonly [ReadonlyArray<string>, ReadonlyArray<string>] => {
      const { selected, skipped } = select({ level: 1, only, skip, profiles: [] })
      return [selected.map(({ id }) => id), skipped.map(({ id }) => id)]
    }
    assert.notInclude([...idsOf([], [])[0]], "R-DUP-02", "of another level")
    assert.notInclude([...idsOf([], [])[0]], "R-SIG-01", "of a profile")
    assert.include(
      select({ level: 2, only: [], skip: [], profiles: ["signed"] }).selected.map(({ id }) => id),
      "R-SIG-01"
    )
    assert.deepStrictEqual(idsOf(["R-FWD-*, R-DUP-01"], []), [["R-DUP-01", "R-FWD-01", "R-FWD-02"], []])
    assert.deepStrictEqual(idsOf(["R-FWD-*"], ["*-02"]), [["R-FWD-01"], ["R-FWD-02"]])
    assert.deepStrictEqual(idsOf(["R-NOPE"], []), [[], []])
  })
})

it("the suite's version is its package's", () => {
  const manifest: { readonly version: string } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8")
  )
  assert.strictEqual(version, manifest.version)
})
