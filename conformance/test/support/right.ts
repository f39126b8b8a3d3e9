/**
 * What a report on a correct receiver must say.
 */
import { assert } from "@effect/vitest"
import type { Report } from "../../src/report/Report.ts"
import { render } from "../../src/report/Text.ts"

/**
 * Asserts that nothing failed and something passed. `warned` lists requirements that may end as WARN, besides those that
 * are folded under one of them.
 */
export const assertRight = (report: Report, warned: ReadonlyArray<string>): void => {
  assert.notStrictEqual(report.ended, "target_unusable", render(report))
  const wrong = report.requirements.filter(
    ({ id, under, verdict }) =>
      verdict === "FAIL" || verdict === "ERROR" || (verdict === "WARN" && under === null && !warned.includes(id))
  )
  assert.deepStrictEqual(
    wrong.map(({ id, observed, verdict }) => `${verdict} ${id}: ${observed}`),
    []
  )
  assert.isTrue(
    report.requirements.some(({ verdict }) => verdict === "PASS"),
    render(report)
  )
}
