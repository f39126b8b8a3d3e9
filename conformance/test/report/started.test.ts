/**
 * The start times of failed histories, in the report and in stored evidence.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { EvidenceLine } from "../../src/record/Evidence.ts"
import { noMeans } from "../../src/record/Options.ts"
import { outcomesOf } from "../../src/record/Outcome.ts"
import { makeReport } from "../../src/report/MakeReport.ts"
import { runSuite } from "../../src/run/RunSuite.ts"
import { model } from "../support/model.ts"

it.live("a failed history has its own start time, in the report and in the evidence", () =>
  Effect.gen(function* () {
    const { hooks, probe, url } = yield* model({ key: ({ index }) => String(index) })
    const trace = `${yield* temporaryFolder}/trace.json`
    const report = yield* runSuite(
      {
        url: [url.href],
        trace,
        cases: null,
        only: ["R-DUP-02", "R-DUP-03"],
        level: 2,
        settle: 300,
        maxTime: 20_000,
        seed: 7
      },
      { ...noMeans, urls: [url], probe, hooks, pace: 0.05 }
    )
    const begun = Date.parse(report.startedAt)
    for (const { historyStartedAt = "", id, verdict } of report.requirements) {
      assert.strictEqual(verdict, "FAIL", id)
      assert.isAbove(Date.parse(historyStartedAt), begun, id)
      assert.isAtMost(Date.parse(historyStartedAt), begun + report.durationMs, id)
    }
    assert.deepStrictEqual(
      report.requirements.map(({ follows = [] }) => follows),
      [[], ["R-DUP-02"]]
    )
    const evidence = Schema.decodeSync(EvidenceLine)(readFileSync(trace, "utf8").trim())
    assert.deepStrictEqual(
      makeReport(evidence, outcomesOf(evidence), { files: new Map(), problem: null }).requirements,
      report.requirements
    )
  })
)
