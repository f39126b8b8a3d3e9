/**
 * From traces to verdicts: what counts, what must be repeated, what is left open.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Finding } from "../src/checks/Finding.ts"
import { fail, inconclusive, nothing, pass } from "../src/checks/Finding.ts"
import { defaultTerms } from "../src/checks/Terms.ts"
import { guardOf, percentile99 } from "../src/executor/Calibration.ts"
import type { CaseRun, Ended, Plan } from "../src/executor/Judgement.ts"
import { judge, keyOf } from "../src/executor/Judgement.ts"
import { makeLedger } from "../src/executor/Ledger.ts"
import type { Trace } from "../src/observed/Trace.ts"
import { accessLog } from "../src/history/Events.ts"
import type { Case } from "../src/history/History.ts"
import { makeCase, newEvent } from "../src/history/History.ts"
import { define } from "../src/requirements/Requirement.ts"
import type { Requirement } from "../src/requirements/Requirement.ts"
import { answeredAfter } from "./support/attempt.ts"

const complete: Ended = { how: "complete", message: "" }

const caseNumber = (n: number): Case => makeCase("state", `case ${n}`, newEvent({ ...accessLog, note: String(n) }))
const first = caseNumber(1)
const second = caseNumber(2)
const drawn = caseNumber(3)

/** A requirement whose check finds what it is told to, trace by trace. */
const planned = (findings: ReadonlyMap<Trace, Finding>, strength: Requirement["strength"] = "MUST"): Plan => ({
  requirement: define({
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
  }),
  directed: [first, second],
  sampled: [drawn],
  keys: new Set([first, second, drawn].map(keyOf)),
  missing: null,
  unproven: null
})

const traceOf = ({ history }: Case): Trace => ({
  history,
  events: [],
  attempts: [],
  interventions: [],
  shortfalls: [],
  effects: [],
  effectsElsewhere: []
})

const runOf = (one: Case, changes: Partial<CaseRun> = {}): CaseRun => ({
  case: one,
  alone: true,
  trace: traceOf(one),
  whole: true,
  settled: true,
  repeats: [],
  ...changes
})

const verdictOf = (plan: Plan, runs: ReadonlyArray<CaseRun>, ended = complete) =>
  judge(plan, runs, defaultTerms, ended).verdict

/** Whether the last of some runs is worth repeating. */
const isLastWorthRepeating = (plan: Plan, runs: ReadonlyArray<CaseRun>): boolean => {
  const ledger = makeLedger([plan], defaultTerms)
  for (const run of runs) ledger.add(run)
  ledger.isAskedFor(drawn)
  return ledger.isWorthRepeating(runs.length - 1)
}

/** Whether one more case is asked for after some runs. */
const asksForMore = (plan: Plan, runs: ReadonlyArray<CaseRun>): boolean => {
  const ledger = makeLedger([plan], defaultTerms)
  for (const run of runs) ledger.add(run)
  return ledger.isAskedFor(drawn)
}

describe("a verdict", () => {
  const [one, two] = [runOf(first), runOf(second)]

  it("is ERROR when the check itself fails, and takes no other's away", () => {
    const throwing = (plan: Plan): Plan => {
      const check: Requirement["check"] = (trace, terms) => {
        if (trace === two.trace) throw new Error("no such place")
        return plan.requirement.check(trace, terms)
      }
      return { ...plan, requirement: { ...plan.requirement, check } }
    }
    const broken = throwing(planned(new Map([[one.trace, inconclusive(0, "open")]])))
    const { observed, verdict } = judge(broken, [one, two], defaultTerms, complete)
    assert.strictEqual(verdict, "ERROR")
    assert.match(observed, /the suite's own check failed \(no such place\)/)
    assert.isFalse(asksForMore(broken, [two]), "more would bring no more")
    assert.strictEqual(verdictOf(planned(new Map()), [one, two]), "PASS")
    const both = throwing(planned(new Map([[one.trace, fail(0, "wrong")]])))
    assert.strictEqual(verdictOf(both, [one, two]), "FAIL", "what is proven is proven")
  })

  it("waits for effects where they have a say, and passes on answers alone where they have none", () => {
    const answered = [first, second].map((each) => runOf(each, { settled: false }))
    const seenBy = (about: Partial<Requirement>): Plan => {
      const plan = planned(new Map())
      return { ...plan, requirement: { ...plan.requirement, ...about } }
    }
    assert.strictEqual(verdictOf(seenBy({}), answered), "PASS")
    for (const about of [{ needs: ["effects"] }, { provenBy: ["effects"] }, { provenBy: ["digest"] }] as const) {
      assert.strictEqual(verdictOf(seenBy(about), answered, { how: "interrupted", message: "" }), "INCONCLUSIVE")
      assert.strictEqual(verdictOf(seenBy(about), [one, two]), "PASS")
    }
  })

  it("is PASS when all directed cases pass, with or without those drawn", () => {
    assert.strictEqual(verdictOf(planned(new Map()), [one, two]), "PASS")
    assert.strictEqual(verdictOf(planned(new Map()), [one, two, runOf(drawn)]), "PASS")
  })

  it("says what it rests on less for: a case that was cut short", () => {
    const trace: Trace = { ...two.trace, shortfalls: [{ op: 0, what: "events", done: 40, of: 300 }] }
    const outcome = judge(planned(new Map()), [one, { ...two, trace }], defaultTerms, complete)
    assert.strictEqual(outcome.verdict, "PASS")
    assert.deepStrictEqual(outcome.cutShort, ["case 2: 40 of 300 events"])
    assert.include(outcome.observed, "CUT SHORT case 2: 40 of 300 events")
  })

  it("says how many were looked at of many events, where that is not all of them", () => {
    const sent = { webhookId: "evt_1", resourceType: "call", dataId: "1", documented: true, digest: "", bulk: true }
    const seen = { last: 1, most: 1, digest: null }
    const observedOf = (effects: Trace["effects"]) => {
      const trace: Trace = { ...two.trace, events: [sent, sent, sent, { ...sent, bulk: false }], effects }
      const plan = planned(new Map([[trace, pass([], 2)]]))
      return judge(plan, [one, { ...two, trace }], defaultTerms, complete).observed
    }
    assert.strictEqual(
      observedOf([seen, null, null, seen]),
      "the effects of 2 events; 1 of 3 events that came in bulk were looked at; 1 of 3 histories left out"
    )
    assert.notInclude(observedOf([seen, seen, seen, seen]), "bulk")
  })

  it("is INCONCLUSIVE when directed cases are missing, and says why", () => {
    for (const how of ["time_up", "interrupted", "target_unusable", "complete"] as const) {
      const outcome = judge(planned(new Map()), [one], defaultTerms, { how, message: "" })
      assert.strictEqual(outcome.verdict, "INCONCLUSIVE")
      assert.include(outcome.observed, "1 of 2 cases done")
    }
  })

  it("is left open by a probe that could not be used, for its reason", () => {
    const ended: Ended = { how: "probe_unusable", message: "The probe printed many." }
    const outcome = judge(planned(new Map()), [one], defaultTerms, ended)
    assert.strictEqual(outcome.verdict, "INCONCLUSIVE")
    assert.match(outcome.observed, /^not tested: the probe could not be used .*\. The probe printed many\.$/)
  })

  it("lacks time where that is what kept cases from being done", () => {
    const lacking = (how: Ended["how"], ...runs: ReadonlyArray<CaseRun>) =>
      judge(planned(new Map()), runs, defaultTerms, { how, message: "" }).lacksTime
    assert.isTrue(lacking("complete", one))
    assert.isTrue(lacking("time_up", one))
    assert.isFalse(lacking("interrupted", one))
    assert.isFalse(lacking("target_unusable", one))
    assert.isFalse(lacking("complete", one, two), "it passed")
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
    assert.isTrue(isLastWorthRepeating(plan, [one, two]))
    const confirmed = { ...two, repeats: [traceOf(second), repeat] }
    assert.strictEqual(verdictOf(plan, [one, confirmed]), "FAIL")
    assert.isFalse(isLastWorthRepeating(plan, [one, confirmed]))
    const accident = { ...two, repeats: [traceOf(second), traceOf(second)] }
    const outcome = judge(plan, [one, accident], defaultTerms, complete)
    assert.strictEqual(outcome.verdict, "INCONCLUSIVE")
    assert.include(outcome.observed, "seen once")
  })

  it("rests on what was wrong once, but not on times, where other histories ran", () => {
    const crowded = { ...two, alone: false }
    assert.strictEqual(verdictOf(planned(new Map([[two.trace, fail(0, "broken")]])), [one, crowded]), "FAIL")
    const late = planned(new Map([[two.trace, fail(0, "late", true)]]))
    assert.isTrue(isLastWorthRepeating(late, [one, crowded]))
    assert.strictEqual(verdictOf(late, [one, crowded]), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(late, [one, { ...crowded, repeats: [traceOf(second)] }]), "PASS")
  })

  it("is told by the plainest of what is as short, whichever was over first", () => {
    const odd = runOf(makeCase("state", "odd", newEvent(accessLog, ["chunked"])))
    const broken = new Map([odd, one].map(({ trace }) => [trace, fail(0, "broken")]))
    const plan = { ...planned(broken), keys: new Set([odd, one].map((run) => keyOf(run.case))) }
    for (const runs of [
      [odd, one],
      [one, odd]
    ]) {
      assert.strictEqual(judge(plan, runs, defaultTerms, complete).evidence?.case, first)
    }
  })

  it("is NOT_OBSERVABLE for want of something, unless it is FAIL without it", () => {
    const plan = planned(new Map([[two.trace, fail(0, "broken")]]))
    assert.strictEqual(verdictOf({ ...planned(new Map()), missing: "effects" }, []), "NOT_OBSERVABLE")
    assert.strictEqual(verdictOf({ ...planned(new Map()), unproven: "digest" }, [one, two]), "NOT_OBSERVABLE")
    assert.strictEqual(verdictOf({ ...plan, unproven: "digest" }, [one, two]), "FAIL")
  })

  it("asks for no repeat where it is decided anyway", () => {
    const plan = planned(
      new Map([
        [one.trace, fail(0, "broken")],
        [two.trace, fail(0, "late", true)]
      ])
    )
    assert.isFalse(isLastWorthRepeating(plan, [one, two]))
    const late = planned(
      new Map([
        [one.trace, fail(0, "late", true)],
        [two.trace, fail(0, "late", true)]
      ])
    )
    const again = traceOf(first)
    const confirmed = { ...one, repeats: [again] }
    const proven = planned(
      new Map([
        [one.trace, fail(0, "late", true)],
        [again, fail(0, "late", true)],
        [two.trace, fail(0, "late", true)]
      ])
    )
    assert.isTrue(isLastWorthRepeating(late, [one, two]))
    assert.isFalse(isLastWorthRepeating(proven, [confirmed, two]), "proven by the repeat of another")
  })

  it("takes of a history that was broken off only what it proves", () => {
    const half = { ...two, whole: false }
    assert.strictEqual(verdictOf(planned(new Map([[two.trace, inconclusive(0, "?")]])), [one, half]), "INCONCLUSIVE")
    const outcome = judge(planned(new Map()), [one, half], defaultTerms, { how: "target_unusable", message: "" })
    assert.include(outcome.observed, "could not be reached or operated any more, with 1 of 2")
    assert.strictEqual(verdictOf(planned(new Map([[two.trace, fail(0, "broken")]])), [one, half]), "FAIL")
  })

  it("is not held open by a trace in which there was nothing to judge", () => {
    const findings = new Map([[two.trace, nothing("nothing")]])
    assert.strictEqual(verdictOf(planned(findings), [one, two]), "PASS")
    findings.set(one.trace, nothing("nothing"))
    assert.strictEqual(verdictOf(planned(findings), [one, two]), "INCONCLUSIVE")
  })
})

describe("a requirement", () => {
  it("asks for more until it is broken, suspected, or left open twice", () => {
    const [one, two] = [runOf(first), runOf(second)]
    assert.isTrue(asksForMore(planned(new Map()), [one, two]))
    assert.isFalse(asksForMore(planned(new Map([[one.trace, fail(0, "")]])), [one]))
    assert.isFalse(asksForMore(planned(new Map([[one.trace, fail(0, "", true)]])), [one]))
    const open = new Map([[one.trace, inconclusive(0, "")]])
    assert.isTrue(asksForMore(planned(open), [one]))
    open.set(two.trace, inconclusive(0, ""))
    assert.isFalse(asksForMore(planned(open), [one, two]))
  })
})

describe("the usual time of an acknowledgement", () => {
  it("is that of events that were alone: beside others, a receiver may be slower", () => {
    const answered = (one: Case, elapsed: number): Trace => ({ ...traceOf(one), attempts: [answeredAfter(elapsed)] })
    const ledger = makeLedger([], defaultTerms)
    ledger.add(runOf(first, { trace: answered(first, 10) }))
    for (const one of [second, drawn]) ledger.add(runOf(one, { trace: answered(one, 80), alone: false }))
    assert.strictEqual(ledger.typical(), 10)
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
