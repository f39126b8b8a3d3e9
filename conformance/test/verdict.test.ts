/**
 * From evidence to verdicts: which findings count, what must be repeated, what stays open, and which failure explains
 * another.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Exchange } from "../src/evidence/Exchange.ts"
import type { Attempt, Trace } from "../src/evidence/Trace.ts"
import { accessLog, noted } from "../src/history/Events.ts"
import { again, keyOf, makeCase, newEvent, only } from "../src/history/History.ts"
import type { Case } from "../src/history/History.ts"
import { retry } from "../src/history/Variations.ts"
import type { Strength } from "../src/history/Variations.ts"
import { defaultCriteria } from "../src/judgement/Criteria.ts"
import { fail, inconclusive, nothing, pass } from "../src/judgement/Verdict.ts"
import type { Finding, Symptom } from "../src/judgement/Verdict.ts"
import { countsPastOne, memoryOf, nextRepeated } from "../src/record/Evidence.ts"
import type { CaseRun, Ended, Evidence, Reproduction } from "../src/record/Evidence.ts"
import { defaults } from "../src/record/Options.ts"
import type { Options } from "../src/record/Options.ts"
import { assess, judge, outcomesOf, plansOf } from "../src/record/Outcome.ts"
import type { Outcome, Plan } from "../src/record/Outcome.ts"
import { causesOf } from "../src/report/MakeReport.ts"
import { find } from "../src/requirements/Catalogue.ts"
import { requirement } from "../src/requirements/Requirement.ts"
import type { Need, Requirement } from "../src/requirements/Requirement.ts"
import { answered, attemptOf, counted, traceOf } from "./support/traces.ts"

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

/** Makes a plan whose requirement judges the given traces as in `found`, and passes all other traces. */
const planned = (
  found: ReadonlyArray<readonly [Trace, Finding]>,
  about: Partial<Requirement> = {},
  id: Requirement["id"] = "R-ACK-99"
): Plan => {
  const findings = new Map(found)
  const strength: Strength = about.strength ?? "MUST"
  return {
    requirement: requirement(id, 1, {
      statement: "",
      source: "",
      because: "in general",
      expected: () => "",
      presumesAcknowledgement: false,
      given: [first, second],
      sampled: { draw: () => third, runs: 1 },
      judge: (trace) => findings.get(trace) ?? pass([]),
      ...about
    }),
    given: [first, second],
    further: [],
    sampled: [third],
    strengths: new Map([first, second, third].map(({ history }) => [keyOf(history), strength])),
    missing: null,
    unproven: null,
    unsent: null
  }
}

const withStrength = (plan: Plan, { history }: Case, strength: Strength): Plan => ({
  ...plan,
  strengths: new Map([...plan.strengths, [keyOf(history), strength]])
})

type Known = Parameters<typeof judge>[1]

const knownOf = (runs: ReadonlyArray<CaseRun>, more: Partial<Known> = {}): Known => ({
  runs,
  criteria: defaultCriteria,
  calibration: null,
  reproductions: [],
  repeatable: true,
  ...more
})

const outcomeOf = (
  plan: Plan,
  runs: ReadonlyArray<CaseRun>,
  how: Ended["how"] = "complete",
  more: Partial<Known> & { readonly message?: string } = {}
): Outcome => judge(plan, knownOf(runs, more), { how, message: more.message ?? "" })

const [one, two, drawn] = [runOf(first), runOf(second), runOf(third)] as const
const late = fail(0, "late", { timing: true })
const weak = fail(0, "weak", { strength: "SHOULD" })
/** Make plans with a finding in the second case, or in both cases. */
const found = (finding: Finding, about?: Partial<Requirement>): Plan => planned([[two.trace, finding]], about)
const foundTwice = (finding: Finding, other = finding): Plan =>
  planned([
    [one.trace, other],
    [two.trace, finding]
  ])
const [fine, broken] = [planned([]), found(fail(0, "broken"))] as const

const unsettled = [first, second].map((each) => runOf(each, { settled: false }))
const silent = runOf(first, { trace: traced(first, { attempts: [attemptOf({ exchange: answered(500) })] }) })
const forged = runOf(makeCase("state", "forged", { k: "forged", event: accessLog, kind: "lengthened", by: "plain" }))
const reset: Exchange = { _tag: "Failed", outcome: "connection_reset", detail: "", elapsed: 3, connected: true }
const gone = runOf(second, { trace: traced(second, { attempts: [attemptOf({ exchange: reset })] }) })
const throwing = planned([], {
  judge: () => {
    throw new Error("no such place")
  }
})
const sent = { webhookId: "evt_1", resourceType: "call", dataId: "1", documented: true, digest: "", bulk: true }
const filled = runOf(second, {
  trace: traced(second, {
    shortfalls: [{ op: 0, what: "events", done: 40, of: 300 }],
    events: [sent, sent, sent, { ...sent, bulk: false }],
    effects: [counted(1), null, null, counted(1)]
  })
})
const [repeat, beside] = [traced(second), { ...two, alone: false }] as const
const lateOnce = found(late)
const lateAgain = planned([
  [two.trace, late],
  [repeat, late]
])

const stalled = runOf(second, {
  trace: traced(second, { attempts: [attemptOf({ exchange: { ...answered(200, 5_100), stalled: 400 } })] })
})
const stalledAgain = { ...stalled, repeats: [stalled.trace, stalled.trace] }
const heldUp = planned([[stalled.trace, inconclusive(0, "held up")]])
const heldUpThenLate = planned([
  [stalled.trace, inconclusive(0, "held up")],
  [repeat, late]
])

const both = [one, two] as const
const half = { ...two, whole: false }
const repeatedTwice = { ...two, repeats: [traced(second), repeat] }
const broke = ({ trace }: CaseRun, about?: Partial<Requirement>): Plan => planned([[trace, fail(0, "broken")]], about)
const presuming = planned([], { presumesAcknowledgement: true })
const unseen: Plan = { ...fine, missing: "effects" }
const manyInPart =
  /PASS the effects of 2 events; a sample of 1 of 3 events sent in bulk; 1 of 3 histories left out; CUT SHORT case 2: 40 of 300 events$/

/** The situation, a pattern for the verdict, and the evidence. */
const rows: ReadonlyArray<readonly [what: string, says: RegExp, ...given: Parameters<typeof outcomeOf>]> = [
  ["all given cases pass", /PASS/, fine, both],
  ["all given and drawn cases pass", /PASS/, fine, [...both, drawn]],
  ["one trace breaks it", /FAIL broken/, broken, both],
  ["one trace breaks a SHOULD", /WARN broken/, found(fail(0, "broken"), { strength: "SHOULD" }), both],
  ["the run is interrupted after a failure", /FAIL/, broken, [two], "interrupted"],
  ["the finding is a SHOULD", /WARN/, found(weak), both],
  ["the case is a SHOULD", /WARN/, withStrength(broken, second, "SHOULD"), both],
  ["an operation is a SHOULD", /WARN/, broke(forged, { examines: "all" }), [...both, forged]],
  ["a SHOULD is broken before all is done", /INCONCLUSIVE/, foundTwice(weak), [one]],
  ["a MUST and a SHOULD are broken", /FAIL strong/, foundTwice(fail(0, "strong"), weak), both],
  ["a SHOULD is broken, a MUST open", /INCONCLUSIVE open/, foundTwice(inconclusive(0, "open"), weak), both],
  ["the judgement fails", /ERROR the suite's own judgement failed \(no such place\)/, throwing, both],
  ["answers pass without effects", /PASS/, fine, unsettled],
  ...([{ needs: ["effects"] }, { provenBy: ["effects"] }, { provenBy: ["digest"] }] as const).flatMap(
    (about): typeof rows => [
      [`${JSON.stringify(about)} was not read`, /INCONCLUSIVE/, planned([], about), unsettled, "interrupted"],
      [`${JSON.stringify(about)} was read`, /PASS/, planned([], about), both]
    ]
  ),
  ["the time was up", /INCONCLUSIVE .*1 of 2 cases done \(lacks time\)$/, fine, [one], "time_up"],
  ["there was not enough time", /INCONCLUSIVE .*1 of 2 cases done \(lacks time\)$/, fine, [one]],
  ["it was interrupted", /INCONCLUSIVE .*1 of 2 cases done$/, fine, [one], "interrupted"],
  ["the receiver was unusable", /INCONCLUSIVE .*1 of 2 cases done$/, fine, [one], "target_unusable"],
  [
    "the probe was unusable",
    /INCONCLUSIVE not fully tested: .*\. Many\.$/,
    fine,
    [one],
    "probe_unusable",
    { message: "Many." }
  ],
  ["nothing was acknowledged", /INCONCLUSIVE .*no ordinary event.*R-ACK-01\)$/, presuming, [silent], "time_up"],
  ["a history that was broken off is open", /INCONCLUSIVE/, found(inconclusive(0, "?")), [one, half]],
  ["a history that was broken off breaks it", /FAIL/, broken, [one, half]],
  ["a connection broke", /FAIL/, broke(gone), [one, gone]],
  ["a connection broke as the receiver died", /INCONCLUSIVE/, broke(gone), [one, gone], "stayed_down"],
  ["a trace held nothing to judge", /PASS/, found(nothing("nothing")), both],
  ["no trace held anything to judge", /INCONCLUSIVE/, foundTwice(nothing("nothing")), both],
  ["there is no probe", /NOT_OBSERVABLE not seen: a probe \(--probe\)/, unseen, []],
  ["there is no probe in a test", /OBSERVABLE not seen: a `probe` that/, unseen, [], "complete", { repeatable: false }],
  ["there is no digest", /NOT_OBSERVABLE/, { ...fine, unproven: "digest" }, both],
  ["it is broken without a digest", /FAIL/, { ...broken, unproven: "digest" }, both],
  ["no binding selects its events", /OBSERVABLE .*bound to call:create gets/, { ...fine, unsent: ["call:create"] }, []],
  ["only a sample of many events was read", manyInPart, planned([[filled.trace, pass([], 2)]]), [one, filled]],
  ["a late answer was not repeated", /INCONCLUSIVE .*not confirmed by a repeat$/, lateOnce, both],
  ["an answer was late again in a repeat", /FAIL/, lateAgain, [one, repeatedTwice]],
  ["an answer was not late in any repeat", /INCONCLUSIVE .*seen once/, lateOnce, [one, repeatedTwice]],
  ["another case alone was late too", /FAIL/, foundTwice(late), both],
  ["another case was late under concurrency", /INCONCLUSIVE/, foundTwice(late), [{ ...one, alone: false }, two]],
  ["one answer was late under concurrency, another alone", /INCONCLUSIVE/, foundTwice(late), [one, beside]],
  ["an answer was late under concurrency", /INCONCLUSIVE/, lateOnce, [one, beside]],
  ["an answer was late under concurrency and not alone", /PASS/, lateOnce, [one, { ...beside, repeats: [repeat] }]],
  ["an answer was wrong under concurrency", /FAIL/, broken, [one, beside]],
  ["an answer arrived while the suite stalled", /INCONCLUSIVE .*not confirmed/, heldUp, [one, stalled]],
  ["the suite stalled, and a repeat was in time", /PASS/, heldUp, [one, { ...stalled, repeats: [repeat] }]],
  ["the suite stalled in each repeat as well", /INCONCLUSIVE held up$/, heldUp, [one, stalledAgain]],
  ["the suite stalled, and a repeat was late", /FAIL/, heldUpThenLate, [one, { ...stalled, repeats: [repeat] }]]
]

describe("a verdict", () => {
  for (const [what, says, ...given] of rows) {
    it(`when ${what}`, () => {
      const { lacksTime, observed, verdict } = outcomeOf(...given)
      assert.match(`${verdict} ${observed}${lacksTime ? " (lacks time)" : ""}`, says)
    })
  }

  it("names the plainest of equally short histories, and its case's own reason", () => {
    const odd = { ...makeCase("state", "odd", newEvent(accessLog, ["chunked"])), because: "for chunks" }
    const oddRun = runOf(odd)
    const plan = planned([oddRun, one].map(({ trace }) => [trace, fail(0, "broken")] as const))
    const withOdd: Plan = { ...withStrength(plan, odd, "MUST"), given: [first, odd] }
    for (const runs of [
      [oddRun, one],
      [one, oddRun]
    ]) {
      assert.strictEqual(outcomeOf(withOdd, runs).decisive?.run, one)
      assert.strictEqual(outcomeOf(withOdd, runs).decisive?.because, "in general")
    }
    assert.strictEqual(outcomeOf(withOdd, [oddRun]).decisive?.because, "for chunks")
  })

  it("names a history without a race, even if one with a race is shorter", () => {
    const race = makeCase("operated", "race", { k: "kill_amid", event: accessLog, workers: 4, after: 20 })
    const long = makeCase("operated", "long", newEvent(accessLog), { k: "restart" }, newEvent(accessLog))
    const runs = [runOf(race), runOf(long)]
    const plan = planned(runs.map(({ trace }) => [trace, fail(0, "broken")] as const))
    const outcome = outcomeOf(withStrength(withStrength(plan, race, "MUST"), long, "MUST"), runs)
    assert.strictEqual(outcome.decisive?.run.title, "long")
  })

  it("is about ordinary events if any failure of the same strength is, whichever failure represents it", () => {
    const plain = makeCase("state", "plain", newEvent(accessLog))
    const race = makeCase("operated", "race", { k: "kill_amid", event: accessLog, workers: 4, after: 20 })
    const [plainRun, raceRun] = [runOf(plain), runOf(race)]
    const always = {
      requirement: "R-ACK-99",
      history: race.history,
      confirmed: { tried: 5, failed: 5 },
      trace: raceRun.trace
    }
    const decisiveOf = (finding: Finding) => {
      const plan = planned([
        [plainRun.trace, finding],
        [raceRun.trace, fail(0, "broken")]
      ])
      const asked = withStrength(withStrength(plan, plain, "MUST"), race, "MUST")
      return outcomeOf(asked, [plainRun, raceRun], "complete", { reproductions: [always] }).decisive
    }
    assert.deepInclude(decisiveOf(fail(0, "broken")), { run: raceRun, isOrdinary: true })
    assert.deepInclude(decisiveOf(weak), { run: raceRun, isOrdinary: false })
  })

  it("shows the shortest history that failed alone", () => {
    const reproduced = traced(third)
    const plan = planned([
      [two.trace, fail(0, "long")],
      [reproduced, fail(0, "short")]
    ])
    const confirmed = { tried: 5, failed: 5 }
    const reproductions = [{ requirement: "R-ACK-99", history: two.trace.history, confirmed, trace: reproduced }]
    const outcome = outcomeOf(plan, [one, two], "complete", { reproductions })
    assert.strictEqual(outcome.observed, "short")
    assert.strictEqual(outcome.decisive?.trace, reproduced)
    assert.deepStrictEqual(outcome.confirmed, confirmed)
  })

  it("shows a failure that recurred alone rather than an easier one that did not", () => {
    const plan = planned([
      [one.trace, fail(0, "raced")],
      [two.trace, fail(0, "always")]
    ])
    const about = { requirement: "R-ACK-99", confirmed: { tried: 5, failed: 0 }, trace: null }
    const never = { ...about, history: one.trace.history }
    const always = {
      ...about,
      history: two.trace.history,
      confirmed: { tried: 5, failed: 5 },
      trace: two.trace
    }
    const outcome = outcomeOf(plan, [one, two], "complete", { reproductions: [never, always] })
    assert.strictEqual(outcome.decisive?.run, two)
    assert.deepStrictEqual(outcome.confirmed, always.confirmed)
    const rarely = { ...never, confirmed: { tried: 5, failed: 4 }, trace: one.trace }
    const reliable = outcomeOf(plan, [one, two], "complete", { reproductions: [rarely, always] })
    assert.strictEqual(reliable.decisive?.run, two, "the one that recurs more often")
    const neither = [never, { ...never, history: two.trace.history }]
    const open = outcomeOf(plan, [one, two], "complete", { reproductions: neither })
    assert.strictEqual(open.decisive?.run, one)
    assert.deepStrictEqual(open.confirmed, never.confirmed)
    const untried = outcomeOf(plan, [one, two], "complete", { reproductions: [never] })
    assert.strictEqual(untried.decisive?.run, two, "one that was never repeated may still recur")
  })

  it("repeats a requirement's failures until one that still stands recurs every time", () => {
    const repeated = (run: CaseRun, failed: number, requirement = "R-ACK-99"): Reproduction => {
      const { history } = run.trace
      return { requirement, history, confirmed: { tried: 5, failed }, trace: failed > 0 ? run.trace : null }
    }
    const nextAfter = (failures: ReadonlyArray<CaseRun>, ...reproductions: ReadonlyArray<Reproduction>) =>
      nextRepeated(failures, reproductions, "R-ACK-99")
    assert.strictEqual(nextAfter([one, two]), one)
    assert.strictEqual(nextAfter([one, two], repeated(one, 4)), two, "the first recurred, but not every time")
    assert.isUndefined(nextAfter([one, two], repeated(one, 5)))
    assert.isUndefined(nextAfter([one, two], repeated(one, 4), repeated(two, 4)), "no other is left")
    assert.strictEqual(nextAfter([two], repeated(one, 5)), two, "what recurred was no failure after all")
    assert.strictEqual(nextAfter([one, two], repeated(one, 5, "R-ACK-98")), one, "another requirement's")
  })

  it("needs a repeat of what may be an accident, unless another case alone showed the same", () => {
    assert.isTrue(assess(lateOnce, two, [one, two], defaultCriteria).suspect)
    assert.isFalse(assess(foundTwice(late), two, [one, two], defaultCriteria).suspect)
  })
})

const options: Options = { ...defaults, url: ["http://127.0.0.1:1/hook"], seed: 7, level: 3 }
const everything = new Set<Need>(["effects", "digest", "stop", "kill", "pause"])

describe("plans", () => {
  const planOf = (id: string, over: Partial<Options> = {}, sight: ReadonlySet<Need> = everything): Plan =>
    plansOf({ ...options, ...over }, sight).find((plan) => plan.requirement.id === id) ?? assert.fail(id)

  it("list a requirement whose profile is missing, with what it needs", () => {
    assert.strictEqual(planOf("R-DUP-06").missing, "advance")
    assert.strictEqual(planOf("R-DUP-06", {}, new Set([...everything, "advance" as const])).missing, "advance")
    assert.isEmpty(planOf("R-DUP-06").given)
  })

  it("send only events that a declared binding selects, and say so if nothing is left", () => {
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
  })

  it("contain each history once, with its strength", () => {
    const plan = planOf("R-FWD-01")
    assert.strictEqual(plan.strengths.size, plan.given.length + plan.further.length + plan.sampled.length)
    const [weak] = only("SHOULD", [first])
    assert.strictEqual(weak?.strength, "SHOULD")
  })
})

/** Returns the evidence of a run, with defaults except for `over`. */
const evidenceOf = (over: Partial<Evidence>): Evidence => ({
  suite: "0",
  options: { ...options, level: 2, only: ["R-DUP-02", "R-DUP-05"] },
  criteria: defaultCriteria,
  given: ["effects"],
  hooks: {},
  repeatable: true,
  echo: 1,
  startedAt: "2026-01-01T00:00:00.000Z",
  durationMs: 1,
  calibration: null,
  ended: { how: "complete", message: "" },
  runs: [],
  interventions: [],
  reproductions: [],
  ...over
})

describe("the evidence of a pass", () => {
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

  it("says for how long, and over how many other events, ids were remembered", () => {
    assert.deepStrictEqual(memoryOf({ runs: [remembered], criteria: defaultCriteria }), { seconds: 42, ids: 1_586 })
    const plan: Plan = { ...planned([], {}, "R-DUP-05"), given: [], strengths: new Map() }
    assert.match(outcomeOf(plan, [remembered]).observed, /ids were remembered for 42 s and 1,586 other events$/)
    assert.isNull(memoryOf({ runs: [one], criteria: defaultCriteria }), "nothing was sent again")
    const twice = { ...remembered, trace: { ...remembered.trace, effects: [counted(2)] } }
    assert.isNull(memoryOf({ runs: [twice], criteria: defaultCriteria }), "it was not recognised")
  })

  it("shows whether the probe was seen to count past one", () => {
    assert.isFalse(countsPastOne({ runs: [remembered], calibration }))
    assert.isTrue(countsPastOne({ runs: [], calibration: { ...calibration, double: { expected: 2, observed: 2 } } }))
  })

  it("is enough to judge a run again", () => {
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

describe("a limit of requests that the receiver keeps to", () => {
  const only = { ...options, level: 1 as const, only: ["R-ACK-01"] }
  const cases = plansOf(only, new Set()).flatMap(({ given }) => given)
  const limited = attemptOf({ exchange: answered(429), limit: { asked: 1_000, before: 15 }, inFlight: 10 })

  /** Returns the verdict on a receiver that refused an event of the last case. */
  const verdictOn = (attempts: ReadonlyArray<Attempt>, over: Partial<Trace> = {}) => {
    const runs = cases.map((one, place) =>
      runOf(one, { trace: traced(one, place === cases.length - 1 ? { attempts, ...over } : {}) })
    )
    return outcomesOf(evidenceOf({ options: only, given: [], runs })).map(({ decisive, verdict }) => [
      verdict,
      decisive?.origin ?? null
    ])
  }

  it("is a WARN of R-ACK-01", () => {
    assert.deepStrictEqual(verdictOn([limited, attemptOf({ number: 2 })]), [["WARN", "fixed"]])
  })

  it("is reported once, by the load that met it", () => {
    const loaded: Options = {
      ...only,
      only: ["R-ACK-01", "R-ACK-05"],
      profile: ["load"],
      peakRate: 20
    }
    const runs = plansOf(loaded, new Set<Need>(["rate"]))
      .flatMap(({ given }) => given)
      .map((one) => {
        const attempts = [limited, attemptOf({ number: 2 })]
        const kind = one.lane === "load" ? "load" : "delivery"
        return runOf(one, { trace: traced(one, { attempts: attempts.map((attempt) => ({ ...attempt, kind })) }) })
      })
    assert.deepStrictEqual(
      outcomesOf(evidenceOf({ options: loaded, given: ["rate"], runs })).map(({ verdict }) => verdict),
      ["PASS", "WARN"]
    )
  })

  it("is none if the receiver was still handling the event, or a proxy answered for one that was down", () => {
    const cut = attemptOf({ kind: "cut" })
    assert.deepStrictEqual(verdictOn([cut, { ...limited, number: 2, first: false }, attemptOf({ number: 3 })]), [
      ["PASS", null]
    ])
    const killed = { op: null, what: "killed", by: "another case", from: 0, until: 10 } as const
    assert.deepStrictEqual(verdictOn([limited, attemptOf({ number: 2 })], { interventions: [killed] }), [
      ["PASS", null]
    ])
  })
})

describe("the cause of a failure", () => {
  const broken = (id: string, trace: Trace, symptom: Symptom | null = null, isOrdinary = false): Outcome => ({
    requirement: find(id) ?? assert.fail(id),
    verdict: "FAIL",
    observed: "",
    decisive: {
      run: one,
      trace,
      attempt: 0,
      event: 0,
      symptom,
      isOrdinary,
      because: "",
      criteria: defaultCriteria,
      origin: "fixed"
    },
    confirmed: null,
    cases: { directed: 1, directedDone: 1, randomDone: 0 },
    cutShort: [],
    lacksTime: false,
    durationMs: 0,
    isLimit: false
  })
  const plain = traceOf([attemptOf()], { ops: [newEvent(accessLog)], history: { v: 1, ops: [newEvent(accessLog)] } })
  const killed = makeCase(
    "operated",
    "",
    { k: "kill_amid", event: accessLog, workers: 1, after: 5 },
    { k: "retry_open" }
  )
  const lost = traceOf([attemptOf({ kind: "amid" })], { history: killed.history, effects: [counted(0)] })

  const refused = (status: number): Trace => ({ ...plain, attempts: [attemptOf({ exchange: answered(status) })] })
  const causesIn = (...all: ReadonlyArray<Outcome>) => all.map((outcome) => causesOf(outcome, all))

  it("is the basic requirement if ordinary events break it with the same symptom", () => {
    const lossy = broken("R-LOS-01", plain, "lost", true)
    assert.deepStrictEqual(causesIn(lossy, broken("R-SIG-02", lost, "lost")), [[], ["R-LOS-01"]])
    assert.deepStrictEqual(causesIn(lossy, broken("R-SIG-02", lost)), [[], []], "a forgery took effect")
    const doubling = broken("R-DUP-02", plain, "doubled", true)
    assert.deepStrictEqual(causesIn(doubling, broken("R-SIG-02", lost, "lost")), [[], []], "of another kind")
    const refusing = broken("R-DUP-01", refused(409), "duplicate_refused", true)
    const forgery = (status: number) => broken("R-SIG-02", refused(status), "duplicate_refused")
    assert.deepStrictEqual(causesIn(refusing, forgery(409), forgery(500)), [[], ["R-DUP-01"], []])
  })

  it("is the signature requirement if ordinary events are not lost", () => {
    const forgery = makeCase("state", "", { k: "forged", event: accessLog, kind: "random", by: "plain" }, again(0, []))
    const attempts = [attemptOf({ kind: "forged", exchange: answered(401) }), attemptOf({ op: 1, first: false })]
    const gone = traceOf(attempts, { history: forgery.history, effects: [counted(0)] })
    const all = causesIn(broken("R-LOS-01", gone, "lost"), broken("R-SIG-02", gone, "lost"))
    assert.deepStrictEqual(all, [["R-SIG-02"], []])
  })

  it("is the race if only simultaneous copies have two effects, and R-DUP-02 if all duplicates do", () => {
    const race = broken("R-DUP-04", lost, "doubled_at_once")
    assert.deepStrictEqual(causesIn(broken("R-DUP-02", lost, "doubled_at_once"), race), [["R-DUP-04"], []])
    assert.deepStrictEqual(causesIn(broken("R-DUP-02", plain, "doubled", true), race), [[], ["R-DUP-02"]])
  })

  it("is a presupposed requirement with the same symptom", () => {
    const crash = broken("R-CRA-01", lost, "lost")
    assert.deepStrictEqual(causesIn(crash, broken("R-CRA-03", lost, "lost")), [[], ["R-CRA-01"]])
    assert.deepStrictEqual(causesIn({ ...crash, verdict: "PASS" }, broken("R-CRA-03", lost, "lost")), [[], []])
  })

  it("is the requirement whose own cases broke one that examines all runs", () => {
    const all = [broken("R-LOS-01", lost), broken("R-CRA-01", lost)]
    assert.deepStrictEqual(
      all.map((outcome) => causesOf(outcome, all)),
      [["R-CRA-01"], []]
    )
  })

  it("is missing for a pass and for an independent failure", () => {
    const passed: Outcome = { ...broken("R-LOS-01", plain, "lost", true), verdict: "PASS", decisive: null }
    const all = [passed, broken("R-LATE-01", lost)]
    assert.deepStrictEqual(
      all.map((outcome) => causesOf(outcome, all)),
      [[], []]
    )
  })
})
