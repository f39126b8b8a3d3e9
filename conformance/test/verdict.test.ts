/**
 * From evidence to verdicts: what counts, how much, what must be repeated, what is left open, what follows from what.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Trace } from "../src/evidence/Trace.ts"
import type { Strength } from "../src/history/Forgeries.ts"
import { accessLog, noted } from "../src/history/Events.ts"
import { again, keyOf, makeCase, newEvent, only } from "../src/history/History.ts"
import type { Case } from "../src/history/History.ts"
import { retry } from "../src/history/Variations.ts"
import type { Finding } from "../src/judgement/Finding.ts"
import { fail, inconclusive, nothing, pass } from "../src/judgement/Finding.ts"
import { defaultTerms } from "../src/judgement/Terms.ts"
import type { CaseRun, Ended, Evidence } from "../src/record/Evidence.ts"
import { defaults } from "../src/record/Options.ts"
import type { Options } from "../src/record/Options.ts"
import { strangersAmong } from "../src/record/Strangers.ts"
import { countsPastOne, memoryOf } from "../src/record/Caveats.ts"
import { causesOf } from "../src/record/Causes.ts"
import { plansOf } from "../src/record/Plan.ts"
import { assess, judge, outcomesOf } from "../src/record/Verdict.ts"
import type { Plan } from "../src/record/Plan.ts"
import type { Outcome } from "../src/record/Verdict.ts"
import { find } from "../src/requirements/Catalogue.ts"
import { needs, requirement } from "../src/requirements/Requirement.ts"
import type { Need, Requirement } from "../src/requirements/Requirement.ts"
import { answered, attemptOf, counted, traceOf } from "./support/traces.ts"

const complete: Ended = { how: "complete", message: "" }

const caseNumber = (n: number): Case => makeCase("state", `case ${n}`, newEvent(noted(accessLog, String(n))))
const [first, second, third] = [caseNumber(1), caseNumber(2), caseNumber(3)] as const

const traced = ({ history }: Case, over: Partial<Trace> = {}): Trace => traceOf([attemptOf()], { history, ...over })

const runOf = (one: Case, changes: Partial<CaseRun> = {}): CaseRun => ({
  title: one.title,
  lane: one.lane,
  alone: true,
  trace: traced(one),
  whole: true,
  settled: true,
  repeats: [],
  ...changes
})

/** A plan whose requirement finds what it is given, trace by trace, and passes every other. */
const planned = (found: ReadonlyArray<readonly [Trace, Finding]>, about: Partial<Requirement> = {}): Plan => {
  const findings = new Map(found)
  const strength: Strength = about.strength ?? "MUST"
  return {
    requirement: requirement({
      id: "R-ACK-99",
      level: 1,
      statement: "",
      source: "",
      because: "in general",
      expected: () => "",
      presumesAcknowledgement: false,
      given: [first, second],
      sampled: { arbitrary: fc.constant(third), runs: 1 },
      judge: (trace) => findings.get(trace) ?? pass([]),
      ...about
    }),
    given: [first, second],
    further: [],
    sampled: [{ ...third, path: "0" }],
    strengths: new Map([first, second, third].map(({ history }) => [keyOf(history), strength])),
    missing: null,
    unproven: null,
    unsent: null
  }
}

type Known = Parameters<typeof judge>[1]

const knownOf = (runs: ReadonlyArray<CaseRun>, more: Partial<Known> = {}): Known => ({
  runs,
  terms: defaultTerms,
  calibration: null,
  refinements: [],
  strangers: [],
  repeatable: true,
  ...more
})

const outcomeOf = (plan: Plan, runs: ReadonlyArray<CaseRun>, ended = complete, more: Partial<Known> = {}): Outcome =>
  judge(plan, knownOf(runs, more), ended)
const verdictOf = (...given: Parameters<typeof outcomeOf>): string => outcomeOf(...given).verdict

const [one, two] = [runOf(first), runOf(second)] as const
const late = fail(0, "late", { timing: true })

describe("a verdict", () => {
  it("is PASS when all given cases pass, with or without those drawn", () => {
    assert.strictEqual(verdictOf(planned([]), [one, two]), "PASS")
    assert.strictEqual(verdictOf(planned([]), [one, two, runOf(third)]), "PASS")
  })

  it("is FAIL when one trace breaks it, however many pass; WARN when it is a SHOULD", () => {
    const broken = [[two.trace, fail(0, "broken")]] as const
    assert.strictEqual(verdictOf(planned(broken), [one, two]), "FAIL")
    assert.strictEqual(verdictOf(planned(broken, { strength: "SHOULD" }), [one, two]), "WARN")
    assert.strictEqual(verdictOf(planned(broken), [two], { how: "interrupted", message: "" }), "FAIL")
  })

  it("is as strong as the weakest of requirement, case, operations and finding", () => {
    const weakFinding = planned([[two.trace, fail(0, "", { strength: "SHOULD" })]])
    assert.strictEqual(verdictOf(weakFinding, [one, two]), "WARN")
    const weakCase = planned([[two.trace, fail(0, "")]])
    const strengths = new Map([...weakCase.strengths, [keyOf(second.history), "SHOULD"] as const])
    assert.strictEqual(verdictOf({ ...weakCase, strengths }, [one, two]), "WARN")
    const forged = runOf(
      makeCase("state", "lengthened", { k: "forged", event: accessLog, kind: "lengthened", by: "plain" })
    )
    const weakOperation = planned([[forged.trace, fail(0, "")]], { examines: "all" })
    assert.strictEqual(verdictOf(weakOperation, [one, two, forged]), "WARN")
    assert.strictEqual(
      verdictOf(planned([one, two].map(({ trace }) => [trace, fail(0, "", { strength: "SHOULD" })] as const)), [one]),
      "INCONCLUSIVE",
      "a WARN does not stand for what was not done"
    )
  })

  it("is told by a MUST before a SHOULD, and by what is open before a SHOULD", () => {
    const weak = fail(0, "weak", { strength: "SHOULD" })
    const both = planned([
      [one.trace, weak],
      [two.trace, fail(0, "strong")]
    ])
    assert.strictEqual(outcomeOf(both, [one, two]).observed, "strong")
    const open = planned([
      [one.trace, weak],
      [two.trace, inconclusive(0, "open")]
    ])
    assert.strictEqual(outcomeOf(open, [one, two]).observed, "open")
  })

  it("is ERROR when the judgement itself fails, and takes no other's away", () => {
    const throwing = planned([], {
      judge: () => {
        throw new Error("no such place")
      }
    })
    const { observed, verdict } = outcomeOf(throwing, [one, two])
    assert.strictEqual(verdict, "ERROR")
    assert.match(observed, /the suite's own judgement failed \(no such place\)/)
  })

  it("waits for effects where they have a say, and passes on answers alone where they have none", () => {
    const unsettled = [first, second].map((each) => runOf(each, { settled: false }))
    assert.strictEqual(verdictOf(planned([]), unsettled), "PASS")
    for (const about of [{ needs: ["effects"] }, { provenBy: ["effects"] }, { provenBy: ["digest"] }] as const) {
      assert.strictEqual(verdictOf(planned([], about), unsettled, { how: "interrupted", message: "" }), "INCONCLUSIVE")
      assert.strictEqual(verdictOf(planned([], about), [one, two]), "PASS")
    }
  })

  it("is INCONCLUSIVE when given cases are missing, and says why", () => {
    for (const how of ["time_up", "interrupted", "target_unusable", "complete"] as const) {
      const outcome = outcomeOf(planned([]), [one], { how, message: "" })
      assert.strictEqual(outcome.verdict, "INCONCLUSIVE")
      assert.include(outcome.observed, "1 of 2 cases done")
      assert.strictEqual(outcome.lacksTime, how === "time_up" || how === "complete")
    }
    const unusable = outcomeOf(planned([]), [one], { how: "probe_unusable", message: "The probe printed many." })
    assert.match(unusable.observed, /^not tested: the probe could not be used .*\. The probe printed many\.$/)
  })

  it("says once for all that nothing was acknowledged, where that is presumed", () => {
    const silent = runOf(first, {
      trace: traceOf([attemptOf({ exchange: answered(500) })], { history: first.history })
    })
    const outcome = outcomeOf(planned([], { presumesAcknowledgement: true }), [silent], { how: "time_up", message: "" })
    assert.include(outcome.observed, "acknowledged no ordinary event")
    assert.isFalse(outcome.lacksTime)
  })

  it("names what was cut short, and how many of many events were looked at", () => {
    const sent = { webhookId: "evt_1", resourceType: "call", dataId: "1", documented: true, digest: "", bulk: true }
    const trace = traced(second, {
      shortfalls: [{ op: 0, what: "events", done: 40, of: 300 }],
      events: [sent, sent, sent, { ...sent, bulk: false }],
      effects: [counted(1), null, null, counted(1)]
    })
    const outcome = outcomeOf(planned([[trace, pass([], 2)]]), [one, { ...two, trace }])
    assert.strictEqual(
      outcome.observed,
      "the effects of 2 events; 1 of 3 events that came in bulk were looked at; 1 of 3 histories left out; CUT SHORT case 2: 40 of 300 events"
    )
    assert.deepStrictEqual(outcome.cutShort, ["case 2: 40 of 300 events"])
  })

  it("takes of a history that was broken off only what it proves", () => {
    const half = { ...two, whole: false }
    assert.strictEqual(verdictOf(planned([[two.trace, inconclusive(0, "?")]]), [one, half]), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(planned([[two.trace, fail(0, "broken")]]), [one, half]), "FAIL")
  })

  it("is not charged to a receiver that was gone for the connection that broke", () => {
    const gone: CaseRun["trace"] = traceOf(
      [
        attemptOf({
          exchange: { _tag: "Failed", outcome: "connection_reset", detail: "", elapsed: 3, connected: true }
        })
      ],
      { history: second.history }
    )
    const plan = planned([[gone, fail(0, "broken")]])
    const runs = [one, { ...two, trace: gone }]
    assert.strictEqual(verdictOf(plan, runs), "FAIL")
    assert.strictEqual(verdictOf(plan, runs, { how: "stayed_down", message: "" }), "INCONCLUSIVE")
  })

  it("is not held open by a trace in which there was nothing to judge", () => {
    assert.strictEqual(verdictOf(planned([[two.trace, nothing("nothing")]]), [one, two]), "PASS")
    const none = [one, two].map(({ trace }) => [trace, nothing("nothing")] as const)
    assert.strictEqual(verdictOf(planned(none), [one, two]), "INCONCLUSIVE")
  })

  it("is told by the plainest of what is as short, and by its case's own reason", () => {
    const odd = { ...makeCase("state", "odd", newEvent(accessLog, ["chunked"])), because: "for chunks" }
    const oddRun = runOf(odd)
    const plan = planned([oddRun, one].map(({ trace }) => [trace, fail(0, "broken")] as const))
    const withOdd: Plan = {
      ...plan,
      given: [first, odd],
      strengths: new Map([...plan.strengths, [keyOf(odd.history), "MUST"] as const])
    }
    for (const runs of [
      [oddRun, one],
      [one, oddRun]
    ]) {
      assert.strictEqual(outcomeOf(withOdd, runs).decisive?.run, one)
      assert.strictEqual(outcomeOf(withOdd, runs).decisive?.because, "in general")
    }
    assert.strictEqual(outcomeOf(withOdd, [oddRun]).decisive?.because, "for chunks")
  })

  it("is told by the shortest history that failed by itself", () => {
    const reproduced = traced(third)
    const plan = planned([
      [two.trace, fail(0, "long")],
      [reproduced, fail(0, "short")]
    ])
    const confirmed = { tried: 5, failed: 5 }
    const refinements = [{ requirement: "R-ACK-99", confirmed, reproduced }]
    const outcome = outcomeOf(plan, [one, two], complete, { refinements })
    assert.strictEqual(outcome.observed, "short")
    assert.strictEqual(outcome.decisive?.trace, reproduced)
    assert.deepStrictEqual(outcome.confirmed, confirmed)
  })

  it("is left open where others sent events to the receiver", () => {
    const broken = planned([[two.trace, fail(0, "broken")]])
    assert.strictEqual(verdictOf(broken, [one, two], complete, { strangers: ["evt_x"] }), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(planned([]), [one, two], complete, { strangers: ["evt_x"] }), "PASS")
  })

  it("is NOT_OBSERVABLE for want of something, unless it is FAIL without it", () => {
    const missing: Plan = { ...planned([]), missing: "effects" }
    assert.strictEqual(outcomeOf(missing, []).observed, `not seen: ${needs.effects.toGive}`)
    assert.strictEqual(
      outcomeOf(missing, [], complete, { repeatable: false }).observed,
      `not seen: ${needs.effects.inTest}`
    )
    assert.strictEqual(verdictOf({ ...planned([]), unproven: "digest" }, [one, two]), "NOT_OBSERVABLE")
    const broken = planned([[two.trace, fail(0, "broken")]])
    assert.strictEqual(verdictOf({ ...broken, unproven: "digest" }, [one, two]), "FAIL")
    const unsent = outcomeOf({ ...planned([]), given: [], unsent: ["call:create"] }, [])
    assert.strictEqual(unsent.verdict, "NOT_OBSERVABLE")
    assert.include(unsent.observed, "bound to call:create")
  })
})

describe("a breach that rests on a measured time", () => {
  const broken = [two.trace, late] as const

  it("is an accident until it is seen again in a repeat", () => {
    const repeat = traced(second)
    const plan = planned([broken, [repeat, late]])
    assert.isTrue(assess(plan, two, [one, two], defaultTerms).suspect)
    assert.strictEqual(verdictOf(plan, [one, two]), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(plan, [one, { ...two, repeats: [traced(second), repeat] }]), "FAIL")
    const outcome = outcomeOf(plan, [one, { ...two, repeats: [traced(second), traced(second)] }])
    assert.strictEqual(outcome.verdict, "INCONCLUSIVE")
    assert.include(outcome.observed, "seen once")
  })

  it("is proof where another case that ran alone shows the same, and not where that ran beside others", () => {
    const plan = planned([broken, [one.trace, late]])
    assert.isFalse(assess(plan, two, [one, two], defaultTerms).suspect)
    assert.strictEqual(verdictOf(plan, [one, two]), "FAIL")
    assert.strictEqual(verdictOf(plan, [{ ...one, alone: false }, two]), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(plan, [one, { ...two, alone: false }]), "INCONCLUSIVE")
  })

  it("is dropped where it came beside others and passes alone", () => {
    const beside = { ...two, alone: false }
    assert.strictEqual(verdictOf(planned([broken]), [one, beside]), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(planned([broken]), [one, { ...beside, repeats: [traced(second)] }]), "PASS")
    assert.strictEqual(verdictOf(planned([[two.trace, fail(0, "wrong")]]), [one, beside]), "FAIL")
  })
})

const options: Options = { ...defaults, url: ["http://127.0.0.1:1/hook"], seed: 7, level: 3 }
const everything = new Set<Need>(["effects", "digest", "stop", "kill", "pause"])

describe("plans", () => {
  const planOf = (id: string, over: Partial<Options> = {}, sight: ReadonlySet<Need> = everything): Plan =>
    plansOf({ ...options, ...over }, sight).find((plan) => plan.requirement.id === id) ?? assert.fail(id)

  it("list what is not looked at without its profile, with the way to look", () => {
    assert.strictEqual(planOf("R-DUP-06").missing, "advance")
    assert.strictEqual(planOf("R-DUP-06", {}, new Set([...everything, "advance" as const])).missing, "advance")
    assert.isEmpty(planOf("R-DUP-06").given)
  })

  it("send nothing that no declared binding selects, and say so where nothing is left", () => {
    const types = (plan: Plan): ReadonlyArray<string> =>
      [...plan.given, ...plan.further, ...plan.sampled].flatMap(({ history }) =>
        history.ops.flatMap((op) => ("event" in op ? [op.event.resource_type] : []))
      )
    for (const id of ["R-FWD-01", "R-FWD-02", "R-DUP-02", "R-ORD-01"]) {
      const plan = planOf(id, { binding: ["access_log:create"] })
      assert.isNotEmpty(plan.given, id)
      assert.deepStrictEqual([...new Set(types(plan))], ["access_log"], id)
    }
    assert.deepStrictEqual(planOf("R-FWD-02", { binding: ["visit:create"] }).unsent, null, "its bulk is of any kind")
    const drawn = planOf("R-DUP-02", { binding: ["access_log:create"] }).sampled
    assert.isTrue(drawn.every(({ path }) => /^\d+$/.test(path)))
  })

  it("hold each history once, with its strength", () => {
    const plan = planOf("R-FWD-01")
    assert.strictEqual(plan.strengths.size, plan.given.length + plan.further.length + plan.sampled.length)
    const [weak] = only("SHOULD", [first])
    assert.strictEqual(weak?.strength, "SHOULD")
  })
})

/** What a run of these cases was, all else as usual. */
const evidenceOf = (over: Partial<Evidence>): Evidence => ({
  suite: "0",
  options: { ...options, level: 2, only: ["R-DUP-02", "R-DUP-05"] },
  terms: defaultTerms,
  given: ["effects"],
  hooks: {},
  repeatable: true,
  echo: 1,
  startedAt: "2026-01-01T00:00:00.000Z",
  durationMs: 1,
  calibration: null,
  ended: complete,
  runs: [],
  interventions: [],
  refinements: [],
  strangers: [],
  ...over
})

describe("what a pass rests on", () => {
  const control = { expected: 1, observed: 1 }
  const calibration: Evidence["calibration"] = {
    kind: "http",
    name: "",
    neverSent: { expected: 0, observed: 0 },
    one: control,
    two: control,
    double: null,
    digest: false,
    byDataId: false,
    blindToUrls: false,
    foldsCase: false,
    lag: 0
  }
  const repeated = makeCase("aged", "again", newEvent(accessLog), { k: "age", ms: 42_000 }, again(0, retry))
  const remembered = runOf(repeated, {
    trace: traceOf([attemptOf(), attemptOf({ op: 2, number: 2, first: false, started: 42_400 })], {
      history: repeated.history,
      otherEvents: 1_586,
      effects: [counted(1)]
    })
  })

  it("is over how long and how many ids memory was seen to last", () => {
    assert.deepStrictEqual(memoryOf({ runs: [remembered], terms: defaultTerms }), { seconds: 42, ids: 1_586 })
    assert.isNull(memoryOf({ runs: [one], terms: defaultTerms }), "nothing came again")
    const twice = { ...remembered, trace: { ...remembered.trace, effects: [counted(2)] } }
    assert.isNull(memoryOf({ runs: [twice], terms: defaultTerms }), "it was not known again")
  })

  it("is that the probe counts past one, where that was not seen", () => {
    assert.isFalse(countsPastOne({ runs: [remembered], calibration }))
    assert.isTrue(countsPastOne({ runs: [], calibration: { ...calibration, double: { expected: 2, observed: 2 } } }))
    const plan: Plan = { ...planned([], { id: "R-DUP-05", needs: ["effects"] }), given: [], strengths: new Map() }
    const { caveats } = outcomeOf(plan, [remembered], complete, { calibration })
    assert.deepStrictEqual(caveats, [
      "not verified: that the probe counts past one (--control-url lets the suite see that)",
      "memory was seen to last over 42 s and 1,586 ids"
    ])
  })

  it("is judged from the evidence alone", () => {
    const outcomes = outcomesOf(evidenceOf({ calibration, runs: [remembered] }))
    assert.deepStrictEqual(
      outcomes.map(({ requirement: { id }, verdict }) => [id, verdict]),
      [
        ["R-DUP-02", "INCONCLUSIVE"],
        ["R-DUP-05", "INCONCLUSIVE"]
      ]
    )
  })
})

describe("what follows from what", () => {
  const broken = (id: string, trace: Trace): Outcome => ({
    requirement: find(id) ?? assert.fail(id),
    verdict: "FAIL",
    observed: "",
    decisive: { run: one, trace, attempt: 0, event: 0, because: "", terms: defaultTerms },
    confirmed: null,
    cases: { directed: 1, directedDone: 1, randomDone: 0 },
    cutShort: [],
    caveats: [],
    lacksTime: false
  })
  const plain = traceOf([attemptOf()], { ops: [newEvent(accessLog)], history: { v: 1, ops: [newEvent(accessLog)] } })
  const killed = makeCase(
    "operated",
    "",
    { k: "kill_amid", event: accessLog, workers: 1, after: 5 },
    { k: "retry_open" }
  )
  const lost = traceOf([attemptOf({ kind: "amid" })], { history: killed.history, effects: [counted(0)] })

  it("is what presupposes a requirement that fails on plain events", () => {
    const cause = broken("R-LOS-01", plain)
    const all = [cause, broken("R-LATE-01", lost)]
    assert.deepStrictEqual(
      all.map((outcome) => causesOf(outcome, all)),
      [[], ["R-LOS-01"]]
    )
  })

  it("is what examines all, of the requirement whose own cases broke it", () => {
    const all = [broken("R-LOS-01", lost), broken("R-CRA-01", lost)]
    assert.deepStrictEqual(
      all.map((outcome) => causesOf(outcome, all)),
      [["R-CRA-01"], []]
    )
  })

  it("is nothing of what passed, or of what stands by itself", () => {
    const passed: Outcome = { ...broken("R-LOS-01", plain), verdict: "PASS", decisive: null }
    const all = [passed, broken("R-LATE-01", lost)]
    assert.deepStrictEqual(
      all.map((outcome) => causesOf(outcome, all)),
      [[], []]
    )
  })
})

it("strangers are ids that are not made of the run's own", () => {
  const own = "evt_01jdm2c3c4d5e6f7g8h9jkmnpq"
  assert.isEmpty(strangersAmong([own, own.toUpperCase(), own.slice(0, 24), own.slice(-20)], [own]))
  assert.deepStrictEqual(strangersAmong(["evt_other"], [own]), ["evt_other"])
})
