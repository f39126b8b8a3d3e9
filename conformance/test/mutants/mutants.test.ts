/**
 * The suite before receivers whose faults are known. The whole table is made by `doorhook conformance mutants`; here are
 * those that are soon found out, and what makes the table worth something.
 */
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { faults } from "../../src/mutants/index.ts"
import type { Fault } from "../../src/mutants/Fault.ts"
import { killOf, toMarkdown, weaknesses } from "../../src/mutants/KillTable.ts"
import { tryFault } from "../../src/mutants/Trial.ts"
import { requirements } from "../../src/requirements/index.ts"
import { conformance } from "../support/command.ts"
import { sampleReport } from "../support/sampleReport.ts"

/** One or two of a group, all of them soon found out. */
const quick = [
  "ack-201",
  "redirect-308",
  "refuses-all",
  "short-body",
  "duplicate-409",
  "no-memory",
  "queued-again",
  "by-bytes",
  "check-then-act",
  "one-scope",
  "every-seventh",
  "strict-data",
  "three-byte-utf8",
  "latin-1",
  "no-line-separators",
  "length-wanted",
  "no-continue",
  "exact-content-type",
  "wedged",
  "unsigned-welcome",
  "id-made-up",
  "length-only",
  "any-version",
  "forgives-whitespace",
  "first-signature",
  "reserialised",
  "no-early-birds",
  "any-age",
  "whole-secret",
  "known-before-checked",
  "seen-before-checked",
  "stores-before-checked",
  "stale-lock",
  "seen-in-memory"
]

const faultNamed = (name: string): Fault => {
  const found = faults.find((fault) => fault.name === name)
  assert.isDefined(found, name)
  return found
}

describe("the faulty receivers", () => {
  it("are 60 at least, each with a name of its own", () => {
    assert.isAtLeast(faults.length, 60)
    assert.strictEqual(new Set(faults.map(({ name }) => name)).size, faults.length)
  })

  it("leave no requirement without one, and none is named for what does not exist", () => {
    const ids = requirements.map(({ id }) => id)
    const named = new Set(faults.map(({ requirement }) => requirement))
    assert.deepStrictEqual(
      ids.filter((id) => !named.has(id)),
      []
    )
    assert.deepStrictEqual(
      [...named].filter((id) => !ids.includes(id)),
      []
    )
  })

  it("are meant for a level and a profile at which their requirement is tested", () => {
    for (const { level, name, profile, requirement: id } of faults) {
      const requirement = requirements.find((one) => one.id === id)
      assert.isAtLeast(level, requirement?.level ?? 4, name)
      if (requirement?.profile !== null) assert.strictEqual(profile, requirement?.profile, name)
    }
  })

  it.live("are found out, each by the requirement it is named for", () =>
    Effect.gen(function* () {
      const kills = yield* Effect.forEach(
        quick.map(faultNamed),
        (fault) =>
          Effect.map(tryFault(fault, { narrow: true, seed: 1, maxTime: 30_000 }), (report) => killOf(fault, report)),
        { concurrency: 6 }
      )
      const weak = weaknesses(kills, [])
      assert.deepStrictEqual(weak, [], weak.join("\n"))
    }).pipe(Effect.provide(NodePlatform.layer))
  )
})

describe("the kill table", () => {
  const report = { ...sampleReport, requirements: sampleReport.requirements.filter(({ id }) => id === "R-DUP-01") }
  const killed = killOf(faultNamed("duplicate-409"), report)
  const other = killOf(faultNamed("ack-201"), report)
  const survivor = killOf(faultNamed("ack-201"), { ...sampleReport, requirements: [] })

  it("counts a receiver that another requirement finds out as a weakness", () => {
    assert.deepStrictEqual(weaknesses([killed], ["R-DUP-01"]), [])
    assert.match(weaknesses([other], [])[0] ?? "", /^ack-201 was found out by R-DUP-01 only, not by R-ACK-02/)
    assert.match(weaknesses([survivor], [])[0] ?? "", /^ack-201 survived: R-ACK-02 did not fail/)
  })

  it("counts a requirement that finds out none as a weakness", () => {
    assert.match(weaknesses([killed], ["R-DUP-01", "R-ACK-02"])[0] ?? "", /^R-ACK-02 finds out no faulty receiver/)
  })

  it("shows survivors", () => {
    const table = toMarkdown([killed, survivor], { narrow: false, suite: "doorhook-conformance/0.1.0" })
    assert.include(table, "1 of 2 killed")
    assert.include(table, "| R-DUP-01 | yes |")
    assert.include(table, "| R-ACK-02 | **no** |")
  })
})

describe("conformance mutants", () => {
  it.live("exits with 1 when one gets by: there was no time to find it out", () =>
    Effect.gen(function* () {
      const { exitCode, message, output } = yield* conformance(
        "mutants",
        "--only",
        "late",
        "--narrow",
        "--max-time",
        "1ms"
      )
      assert.strictEqual(exitCode, 1, output)
      assert.include(output, "SURVIVED  late")
      assert.include(message, "The suite is not good enough")
    })
  )

  it.live("exits with 0 when all are found out, and says what is wrong with a flag", () =>
    Effect.gen(function* () {
      const found = yield* conformance("mutants", "--only", "ack-20*", "--narrow", "--jobs", "3", "--max-time", "30s")
      assert.strictEqual(found.exitCode, 0, found.output)
      assert.include(found.output, "3 of 3 faulty receivers found out.")
      const nobody = yield* conformance("mutants", "--only", "ack-201,perfect")
      assert.strictEqual(nobody.exitCode, 3)
      assert.include(nobody.message, "--only perfect: no faulty receiver has such a name")
      const nowhere = yield* conformance("mutants", "--report", "/no/such/table.md")
      assert.match(nowhere.message, /^--report \/no\/such\/table\.md: expected a file that can be written; /)
      const jobless = yield* conformance("mutants", "--jobs", "0")
      assert.strictEqual(jobless.exitCode, 3)
    })
  )
})
