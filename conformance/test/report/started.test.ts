/**
 * When the history of a failure began: each at its own time, in the report and in what is stored of the run.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { outcomesOf } from "../../src/record/Record.ts"
import { makeReport } from "../../src/report/MakeReport.ts"
import { runSuite } from "../../src/run/RunSuite.ts"
import { readTrace } from "../../src/trace/ReadTrace.ts"
import { model } from "../support/model.ts"

it.live("a history that failed says when it began, which is not when the run did", () =>
  Effect.gen(function* () {
    const { hooks, probe, url } = yield* model({ key: ({ index }) => String(index) })
    const trace = `${yield* temporaryFolder}/trace.ndjson`
    const report = yield* runSuite({
      url,
      probe,
      hooks,
      trace,
      only: ["R-DUP-02", "R-DUP-03"],
      level: 2,
      settle: 300,
      maxTime: 20_000,
      pace: 0.05,
      seed: 7
    })
    const begun = Date.parse(report.startedAt)
    for (const { historyStartedAt = "", id, verdict } of report.requirements) {
      assert.strictEqual(verdict, "FAIL", id)
      assert.isAbove(Date.parse(historyStartedAt), begun, id)
      assert.isAtMost(Date.parse(historyStartedAt), begun + report.durationMs, id)
    }
    const { record, stored } = yield* readTrace(trace)
    assert.deepStrictEqual(
      makeReport({ record, outcomes: outcomesOf(record), ...stored }).requirements,
      report.requirements
    )
  })
)
