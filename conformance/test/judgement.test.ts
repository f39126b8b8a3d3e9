/**
 * From traces to verdicts: what counts, what must be repeated, what is left open.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Finding } from "../src/checks/Finding.ts"
import { fail, inconclusive, pass } from "../src/checks/Finding.ts"
import { defaultTerms } from "../src/checks/Terms.ts"
import { guardOf, percentile99 } from "../src/executor/Calibration.ts"
import type { CaseRun, Ended, Plan } from "../src/executor/Judgement.ts"
import { isOpen, isWorthRepeating, judge } from "../src/executor/Judgement.ts"
import type { Trace } from "../src/executor/Trace.ts"
import { accessLog } from "../src/history/Events.ts"
import type { Case } from "../src/history/History.ts"
import { makeCase, newEvent } from "../src/history/History.ts"
import type { Requirement } from "../src/requirements/Requirement.ts"

const complete: Ended = { how: "complete", message: "" }

const caseNumber = (n: number): Case => makeCase("state", `case ${n}`, newEvent({ ...accessLog, note: String(n) }))
const first = caseNumber(1)
const second = caseNumber(2)
const drawn = caseNumber(3)

/** A requirement whose check finds what it is told to, trace by trace. */
const planned = (findings: ReadonlyMap<Trace, Finding>, strength: Requirement["strength"] = "MUST"): Plan => ({
  requirement: {
    id: "R-TEST-01",
    level: 1,
    strength,
    statement: "",
    source: "",
    because: "",
    expected: () => "",
    presumesAcknowledgement: false,
    directed: [first, second],
    sampled: { arbitrary: fc.constant(drawn), runs: 1 },
    check: (trace) => findings.get(trace) ?? pass([])
  },
  directed: [first, second],
  sampled: [drawn]
})

const traceOf = ({ history }: Case): Trace => ({ history, attempts: [] })

const runOf = (one: Case, changes: Partial<CaseRun> = {}): CaseRun => ({
  case: one,
  alone: true,
  trace: traceOf(one),
  whole: true,
  repeats: [],
  ...changes
})

const verdictOf = (plan: Plan, runs: ReadonlyArray<CaseRun>, ended = complete) =>
  judge(plan, runs, defaultTerms, ended).verdict

describe("a verdict", () => {
  const [one, two] = [runOf(first), runOf(second)]

  it("is PASS when all directed cases pass, with or without those drawn", () => {
    assert.strictEqual(verdictOf(planned(new Map()), [one, two]), "PASS")
    assert.strictEqual(verdictOf(planned(new Map()), [one, two, runOf(drawn)]), "PASS")
  })

  it("is INCONCLUSIVE when directed cases are missing, and says why", () => {
    for (const how of ["time_up", "interrupted", "target_unusable", "complete"] as const) {
      const outcome = judge(planned(new Map()), [one], defaultTerms, { how, message: "" })
      assert.strictEqual(outcome.verdict, "INCONCLUSIVE")
      assert.include(outcome.observed, "1 of 2 cases done")
    }
  })

  it("is FAIL when one trace breaks it, however many pass; WARN when it is a SHOULD", () => {
    const findings = new Map([[two.trace, fail(0, "broken")]])
    assert.strictEqual(verdictOf(planned(findings), [one, two]), "FAIL")
    assert.strictEqual(verdictOf(planned(findings, "SHOULD"), [one, two]), "WARN")
    assert.strictEqual(verdictOf(planned(findings), [two], { how: "interrupted", message: "" }), "FAIL")
  })

  it("waits for a repeat when it rests on a time", () => {
    const repeat = traceOf(second)
    const findings = new Map([
      [two.trace, fail(0, "late", true)],
      [repeat, fail(0, "late again", true)]
    ])
    const plan = planned(findings)
    assert.strictEqual(verdictOf(plan, [one, two]), "INCONCLUSIVE")
    assert.isTrue(isWorthRepeating(plan, two, [one, two], defaultTerms))
    const confirmed = { ...two, repeats: [traceOf(second), repeat] }
    assert.strictEqual(verdictOf(plan, [one, confirmed]), "FAIL")
    assert.isFalse(isWorthRepeating(plan, confirmed, [one, confirmed], defaultTerms))
    const accident = { ...two, repeats: [traceOf(second), traceOf(second)] }
    const outcome = judge(plan, [one, accident], defaultTerms, complete)
    assert.strictEqual(outcome.verdict, "INCONCLUSIVE")
    assert.include(outcome.observed, "seen once")
  })

  it("waits for a repeat of anything that happened while other histories ran", () => {
    const plan = planned(new Map([[two.trace, fail(0, "broken")]]))
    const crowded = { ...two, alone: false }
    assert.strictEqual(verdictOf(plan, [one, crowded]), "INCONCLUSIVE")
    assert.isTrue(isWorthRepeating(plan, crowded, [one, crowded], defaultTerms))
  })

  it("asks for no repeat where it is decided anyway", () => {
    const plan = planned(
      new Map([
        [one.trace, fail(0, "broken")],
        [two.trace, fail(0, "late", true)]
      ])
    )
    assert.isFalse(isWorthRepeating(plan, two, [one, two], defaultTerms))
  })

  it("takes of a history that was broken off only what it proves", () => {
    const half = { ...two, whole: false }
    assert.strictEqual(verdictOf(planned(new Map([[two.trace, inconclusive(0, "?")]])), [one, half]), "INCONCLUSIVE")
    const outcome = judge(planned(new Map()), [one, half], defaultTerms, { how: "target_unusable", message: "" })
    assert.include(outcome.observed, "could not be reached any more, with 1 of 2")
    assert.strictEqual(verdictOf(planned(new Map([[two.trace, fail(0, "broken")]])), [one, half]), "FAIL")
  })

  it("is not held open by a trace in which there was nothing to judge", () => {
    const findings = new Map([[two.trace, inconclusive(null, "nothing")]])
    assert.strictEqual(verdictOf(planned(findings), [one, two]), "PASS")
    findings.set(one.trace, inconclusive(null, "nothing"))
    assert.strictEqual(verdictOf(planned(findings), [one, two]), "INCONCLUSIVE")
  })
})

describe("a requirement", () => {
  it("asks for more until it is broken, suspected, or left open twice", () => {
    const [one, two] = [runOf(first), runOf(second)]
    assert.isTrue(isOpen(planned(new Map()), [one, two], defaultTerms))
    assert.isFalse(isOpen(planned(new Map([[one.trace, fail(0, "")]])), [one], defaultTerms))
    assert.isFalse(isOpen(planned(new Map([[one.trace, fail(0, "", true)]])), [one], defaultTerms))
    const open = new Map([[one.trace, inconclusive(0, "")]])
    assert.isTrue(isOpen(planned(open), [one], defaultTerms))
    open.set(two.trace, inconclusive(0, ""))
    assert.isFalse(isOpen(planned(open), [one, two], defaultTerms))
  })
})

describe("the guard band", () => {
  it("is three times the 99th percentile, and at least 50 ms", () => {
    const timings = Array.from({ length: 100 }, (_, index) => index + 1)
    assert.strictEqual(percentile99(timings), 99)
    assert.strictEqual(guardOf(timings), 297)
    assert.strictEqual(guardOf([1, 1, 2]), 50)
    assert.strictEqual(guardOf([]), 50)
  })
})
