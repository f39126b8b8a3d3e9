/**
 * What a report says of failures that follow from others: that, where the other fails on ordinary events, and nothing where
 * it may be the consequence itself.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { requirements } from "../../src/requirements/index.ts"
import { find } from "../../src/requirements/Selection.ts"
import { render } from "../../src/report/Console.ts"
import { causesOf } from "../../src/report/Following.ts"
import { toHtml } from "../../src/report/html/HtmlReport.ts"
import { toMarkdown } from "../../src/report/Markdown.ts"
import type { Report } from "../../src/report/Report.ts"
import { runSuite } from "../../src/run/RunSuite.ts"
import type { Manners } from "../support/model.ts"
import { model } from "../support/model.ts"

const run = Effect.fnUntraced(function* (manners: Manners, only: ReadonlyArray<string>) {
  const { hooks, probe, url } = yield* model(manners)
  return yield* runSuite({ url, probe, hooks, only, level: 2, settle: 300, maxTime: 20_000, pace: 0.05, seed: 7 })
})

const told = (report: Report): ReadonlyArray<readonly [id: string, verdict: string, causes: ReadonlyArray<string>]> =>
  report.requirements.map((one) => [one.id, one.verdict, causesOf(one, report.requirements)])

describe("a failure", () => {
  it.live("follows from one on ordinary events that it presupposes, and every text says so", () =>
    Effect.gen(function* () {
      const report = yield* run({ key: ({ index }) => String(index) }, ["R-ACK-01", "R-DUP-01", "R-DUP-02", "R-DUP-03"])
      assert.deepStrictEqual(told(report), [
        ["R-ACK-01", "PASS", []],
        ["R-DUP-01", "PASS", []],
        ["R-DUP-02", "FAIL", []],
        ["R-DUP-03", "FAIL", ["R-DUP-02"]]
      ])
      const words = "probably from R-DUP-02: mend that first"
      assert.strictEqual(render(report).split(`Follows    ${words}`).length, 2)
      assert.strictEqual(toMarkdown(report).split(`**Follows** ${words}`).length, 2)
      assert.strictEqual(toHtml(report).split(words).length, 2)
    })
  )

  it.live("stands by itself where what it presupposes fails for its sake alone", () =>
    Effect.gen(function* () {
      const report = yield* run({ key: ({ body }) => body }, ["R-DUP-02", "R-DUP-03"])
      assert.deepStrictEqual(told(report), [
        ["R-DUP-02", "FAIL", []],
        ["R-DUP-03", "FAIL", []]
      ])
    })
  )
})

describe("what a requirement presupposes", () => {
  it("exists, is seen where it is seen, and presupposes nothing in turn: no circle", () => {
    for (const { id, level, presupposes } of requirements) {
      for (const other of presupposes) {
        const presupposed = find(other)
        assert.isDefined(presupposed, `${id}: ${other}`)
        assert.isAtMost(presupposed?.level ?? 4, Math.max(level, 2), `${id}: ${other}`)
        assert.isEmpty(presupposed?.presupposes, `${id}: ${other}`)
      }
    }
  })
})
