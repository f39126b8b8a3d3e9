import { assert, describe, it } from "@effect/vitest"
import type { Trace } from "../../src/next/evidence/Trace.ts"
import { defaultTerms } from "../../src/next/judgement/Terms.ts"
import { atMostOnce, exactlyOnce } from "../../src/next/judgement/Judge.ts"
import type { Judge } from "../../src/next/judgement/Judge.ts"
import { requirements } from "../../src/next/requirements/Catalogue.ts"
import { answered, attemptOf, counted, traceOf } from "./support/traces.ts"

const judgeOf = (id: string): Judge => {
  const found = requirements.find((one) => one.id === id)
  if (found === undefined) throw new Error(`${id} is no requirement`)
  return found.judge
}

const again = { op: 1, number: 2, first: false }

/** What a trace is found to be, by its strength where it breaks the requirement. */
const rows: ReadonlyArray<readonly [what: string, judge: Judge, trace: Trace, found: string]> = [
  ["an acknowledged event", judgeOf("R-ACK-01"), traceOf([attemptOf()]), "PASS"],
  ["a refused event", judgeOf("R-ACK-01"), traceOf([attemptOf({ exchange: answered(500) })]), "FAIL MUST"],
  [
    "an event that was refused beside others and acknowledged alone",
    judgeOf("R-ACK-01"),
    traceOf([attemptOf({ exchange: answered(503), inFlight: 10, crowded: true }), attemptOf({ number: 2 })]),
    "FAIL SHOULD"
  ],
  [
    "an event that was refused beside others and alone",
    judgeOf("R-ACK-01"),
    traceOf([
      attemptOf({ exchange: answered(503), inFlight: 10, crowded: true }),
      attemptOf({ number: 2, exchange: answered(503) })
    ]),
    "FAIL MUST"
  ],
  ["a late status", judgeOf("R-ACK-03"), traceOf([attemptOf({ exchange: answered(200, 6_000) })]), "FAIL MUST timing"],
  ["202", judgeOf("R-ACK-02"), traceOf([attemptOf({ exchange: answered(202) })]), "FAIL MUST"],
  ["two effects", atMostOnce, traceOf([attemptOf(), attemptOf(again)], { effects: [counted(2)] }), "FAIL MUST"],
  ["two effects for a while", atMostOnce, traceOf([attemptOf()], { effects: [counted(1, 2)] }), "FAIL MUST"],
  ["no effect of what was acknowledged", exactlyOnce, traceOf([attemptOf()], { effects: [counted(0)] }), "FAIL MUST"],
  ["one effect", exactlyOnce, traceOf([attemptOf(), attemptOf(again)], { effects: [counted(1)] }), "PASS"],
  ["effects that were not read", exactlyOnce, traceOf([attemptOf()]), "INCONCLUSIVE"]
]

describe("a judgement", () => {
  for (const [what, judge, trace, expected] of rows) {
    it(`of ${what} is ${expected}`, () => {
      const finding = judge(trace, defaultTerms)
      const found =
        finding.verdict === "FAIL" ? `FAIL ${finding.strength}${finding.timing ? " timing" : ""}` : finding.verdict
      assert.strictEqual(found, expected)
    })
  }
})
