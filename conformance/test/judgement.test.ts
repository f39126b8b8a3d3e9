import { assert, describe, it } from "@effect/vitest"
import type { Exchange } from "../src/evidence/Exchange.ts"
import type { Attempt, Effects, Trace } from "../src/evidence/Trace.ts"
import { accessLog, bodyOf, withMember, withUnknown } from "../src/history/Events.ts"
import { cutNew, inAnswer, inBody, newEvent } from "../src/history/History.ts"
import type { Member } from "../src/history/Json.ts"
import {
  acknowledgedHasEffect,
  atMostOnce,
  copiesAnswered,
  everyAttempt,
  exactlyOnce,
  limitInWords,
  noPhantom,
  storedAsSent
} from "../src/judgement/Judge.ts"
import type { Judge } from "../src/judgement/Judge.ts"
import { defaultCriteria, classify } from "../src/judgement/Criteria.ts"
import { both, fail, inconclusive, pass } from "../src/judgement/Verdict.ts"
import { requirements } from "../src/requirements/Catalogue.ts"
import { firstStays } from "../src/requirements/Duplicates.ts"
import { answered, attemptOf, counted, traceOf } from "./support/traces.ts"

const judgeOf = (id: string): Judge => {
  const found = requirements.find((one) => one.id === id)
  if (found === undefined) throw new Error(`${id} is not a requirement`)
  return found.judge
}

const again = { op: 1, number: 2, first: false }

const failed = (outcome: "timeout" | "connection_reset" | "invalid_response"): Exchange => ({
  _tag: "Failed",
  outcome,
  detail: "",
  elapsed: outcome === "timeout" ? 5_050 : 3,
  connected: true
})
const limited: Partial<Attempt> = { exchange: answered(429), inFlight: 10, limit: { asked: 1_000, before: 9 } }
const late = failed("timeout")
const reset = failed("connection_reset")
const endless: Exchange = { ...answered(200), ending: "unfinished", elapsed: 5_060 }
const cutOff: Exchange = { ...answered(200), ending: "cut_off" }

/** Makes a trace of events that are sent once each. */
const each = (...exchanges: ReadonlyArray<Exchange>): Trace =>
  traceOf(exchanges.map((exchange, index) => attemptOf({ exchange, op: index, event: index })))

/** Makes a trace of one event that is sent repeatedly. */
const repeated = (...exchanges: ReadonlyArray<Exchange>): Trace =>
  traceOf(exchanges.map((exchange, op) => attemptOf({ exchange, op, number: op + 1, first: op === 0 })))

const stored = (digest: string, first: Exchange): Trace => ({
  ...repeated(first, answered(200)),
  effects: [{ ...counted(1), digest }]
})

/**
 * Makes a trace of an event whose documented or unknown member is a number that a double can't store exactly. `shown`
 * is the probe's reading.
 */
const longNumber = (member: "access_point" | "serial", shown: Partial<Effects>): Trace => {
  const number: Member = [member, "9007199254740993"]
  const event = member === "serial" ? withUnknown(accessLog, number) : withMember(accessLog, ...number)
  const trace = traceOf([attemptOf({ request: { method: "POST", headers: {}, body: bodyOf(event) } })], {
    history: { v: 1, ops: [newEvent(event)] },
    effects: [{ ...counted(1), ...shown }]
  })
  return { ...trace, events: trace.events.map((sent) => ({ ...sent, exactDigest: "sha256:2" })) }
}
const [exact, rounded] = ['{"a":9007199254740993}', '{"a":9.007199254740992e15}'] as const

/** Makes a trace of one attempt with these properties, and with the effects that the probe reports for its event. */
const special = (over: Partial<Attempt>, effects: number, ops: Trace["history"]["ops"] = []): Trace =>
  traceOf([attemptOf(over)], { history: { v: 1, ops }, effects: [counted(effects)] })

/** Makes a trace of one event that is sent to one or both URLs, with the effects that the probe reports at each URL. */
const urls = (sent: 1 | 2, here: number, there: number, blindToUrls = false): Trace =>
  traceOf([attemptOf(), attemptOf({ endpoint: "http://127.0.0.1:1/other", first: false })].slice(0, sent), {
    effects: [counted(here)],
    effectsElsewhere: [counted(there)],
    sight: { byDataId: false, blindToUrls, foldsCase: false }
  })

const loaded = (heldUp: number, ...exchanges: ReadonlyArray<Exchange>): Trace =>
  traceOf(
    exchanges.map((exchange, event) => attemptOf({ exchange, kind: "load", event })),
    { shortfalls: [{ op: 0, what: "connections", done: exchanges.length - heldUp, of: exchanges.length }] }
  )

/** Makes a trace of a load in which a limit refuses an event, which is then sent again with these results. */
const limitedLoad = (...again: ReadonlyArray<Partial<Attempt>>): Trace =>
  traceOf([
    attemptOf({ kind: "load" }),
    attemptOf({ ...limited, kind: "load", event: 1 }),
    ...again.map((one, place) => attemptOf({ ...one, kind: "load", event: 1, number: place + 2 }))
  ])

/** Makes a trace of two events whose ids differ only in case, with the effects that the probe reports for each. */
const caseTwins = (counts: readonly [number, number], foldsCase: boolean): Trace => {
  const trace = traceOf([attemptOf(), attemptOf({ op: 0, event: 1 })], {
    history: { v: 1, ops: [{ k: "twins", event: accessLog, kind: "letter_case" }] },
    effects: counts.map((count) => counted(count)),
    sight: { byDataId: false, blindToUrls: false, foldsCase }
  })
  return {
    ...trace,
    events: trace.events.map((sent, place) => ({ ...sent, webhookId: place === 0 ? "evt_a" : "evt_A" }))
  }
}

const restarted: Trace["interventions"] = [{ op: 1, what: "restarted", by: "", from: 500, until: 900 }]

/** The expected finding for each trace, with its strength if it is a failure. */
const rows: ReadonlyArray<readonly [what: string, judge: Judge, trace: Trace, found: string]> = [
  [
    "an event that was refused beside others and acknowledged alone",
    judgeOf("R-ACK-01"),
    traceOf([
      attemptOf({ exchange: answered(503), inFlight: 10, limit: { asked: null, before: 9 } }),
      attemptOf({ number: 2 })
    ]),
    "PASS"
  ],
  [
    "an event that was refused beside others and alone",
    judgeOf("R-ACK-01"),
    traceOf([
      attemptOf({ exchange: answered(503), inFlight: 10, limit: { asked: null, before: 9 } }),
      attemptOf({ number: 2, exchange: answered(503) })
    ]),
    "FAIL MUST"
  ],
  [
    "an event that a limit refused, and that was not sent again",
    judgeOf("R-ACK-01"),
    traceOf([attemptOf(limited)]),
    "INCONCLUSIVE"
  ],
  [
    "an event that a limit refused twice",
    judgeOf("R-ACK-01"),
    traceOf([attemptOf(limited), attemptOf({ ...limited, number: 2 })]),
    "INCONCLUSIVE"
  ],
  ["a refusal after a late answer", judgeOf("R-ACK-01"), each(late, answered(500)), "FAIL MUST"],
  ["an answer at the deadline", judgeOf("R-ACK-01"), each(answered(200), answered(200, 5_000)), "INCONCLUSIVE"],
  ["a refused duplicate, for first attempts", judgeOf("R-ACK-01"), repeated(answered(200), answered(409)), "PASS"],
  ["no status at all", judgeOf("R-ACK-02"), each(late, reset), "INCONCLUSIVE"],
  ["a refusal in time", judgeOf("R-ACK-03"), each(answered(500), endless), "PASS"],
  ["a load with a late answer", judgeOf("R-ACK-05"), loaded(0, answered(200), late), "FAIL MUST timing"],
  ["a load beyond a limit", judgeOf("R-ACK-05"), limitedLoad({}), "FAIL SHOULD"],
  [
    "a load of which what a limit refused is refused for good",
    judgeOf("R-ACK-05"),
    limitedLoad({ exchange: answered(429) }),
    "FAIL MUST"
  ],
  [
    "a load of which what a limit refused is refused at each repeat",
    judgeOf("R-ACK-05"),
    limitedLoad(limited, limited),
    "INCONCLUSIVE"
  ],
  ["a load of which what a limit refused is not sent again", judgeOf("R-ACK-05"), limitedLoad(), "INCONCLUSIVE"],
  [
    "a load with a late answer, noticed by a busy process",
    judgeOf("R-ACK-05"),
    loaded(0, answered(200), { ...answered(200, 6_000), stalled: 1_500 }),
    "INCONCLUSIVE"
  ],
  ["a load that the suite held up", judgeOf("R-ACK-05"), loaded(1, answered(200), late), "INCONCLUSIVE"],
  [
    "a duplicate refused like its first attempt",
    judgeOf("R-DUP-01"),
    repeated(answered(202), answered(202)),
    "INCONCLUSIVE"
  ],
  ["a duplicate refused after a late answer", judgeOf("R-DUP-01"), repeated(late, answered(409)), "INCONCLUSIVE"],
  [
    "copies of which one is refused",
    copiesAnswered,
    traceOf([attemptOf({ raced: true }), attemptOf({ raced: true, exchange: answered(409) })]),
    "PASS"
  ],
  [
    "copies of which one hangs",
    copiesAnswered,
    traceOf([attemptOf({ raced: true }), attemptOf({ raced: true, exchange: late })]),
    "FAIL MUST timing"
  ],
  ["a refusal while an earlier attempt may run", everyAttempt, repeated(late, answered(409)), "FAIL MUST timing"],
  ["two effects for a while", atMostOnce, traceOf([attemptOf()], { effects: [counted(1, 2)] }), "FAIL MUST"],
  ["effects that were not read", exactlyOnce, traceOf([attemptOf()]), "INCONCLUSIVE"],
  ["a dropped event of a load", acknowledgedHasEffect, special({ kind: "load" }, 0), "FAIL MUST"],
  ["an effect of half a body", noPhantom, special({ kind: "cut" }, 1, [cutNew(accessLog, inBody(50))]), "FAIL MUST"],
  [
    "an effect of a body whose sender did not wait",
    noPhantom,
    special({ kind: "cut" }, 1, [cutNew(accessLog, inAnswer(0))]),
    "INCONCLUSIVE"
  ],
  ["another version stored after the first", firstStays, stored("sha256:1", answered(200)), "FAIL MUST"],
  ["another version stored after the first was refused", firstStays, stored("sha256:1", answered(503)), "INCONCLUSIVE"],
  ["data stored differently after a late answer", storedAsSent, stored("sha256:1", late), "INCONCLUSIVE"],
  ["a number stored with every digit", storedAsSent, longNumber("access_point", { digest: "sha256:2" }), "PASS"],
  [
    "a number whose digest is the one of RFC 8785",
    storedAsSent,
    longNumber("access_point", { digest: "sha256:0" }),
    "PASS"
  ],
  ["a number stored as another", storedAsSent, longNumber("access_point", { digest: "sha256:1" }), "FAIL MUST"],
  ["a number shown as a double", storedAsSent, longNumber("access_point", { data: rounded }), "FAIL SHOULD"],
  ["a number shown with every digit", storedAsSent, longNumber("access_point", { data: exact }), "INCONCLUSIVE"],
  [
    "an unknown number whose digest is the one of RFC 8785",
    storedAsSent,
    longNumber("serial", { digest: "sha256:0" }),
    "PASS"
  ],
  [
    "an unknown number shown as a double beside something else",
    storedAsSent,
    longNumber("serial", { digest: "sha256:1", data: rounded }),
    "FAIL SHOULD"
  ],
  ["an unknown member that is not stored", storedAsSent, longNumber("serial", { digest: "sha256:1" }), "INCONCLUSIVE"],
  [
    "ids that differ in case, seen by a probe that folds it",
    judgeOf("R-NEW-01"),
    caseTwins([1, 1], true),
    "INCONCLUSIVE"
  ],
  ["ids that differ in case, seen as double effects", atMostOnce, caseTwins([2, 2], true), "INCONCLUSIVE"],
  ["URLs that are counted together", judgeOf("R-DUP-08"), urls(2, 2, 2, true), "PASS"],
  ["a dropped delivery at URLs that are counted together", judgeOf("R-DUP-08"), urls(2, 1, 1, true), "FAIL MUST"],
  ["an effect at a URL that nothing was sent to", judgeOf("R-DUP-08"), urls(1, 1, 1), "FAIL MUST"],
  [
    "a receiver that other cases ended",
    judgeOf("R-CRA-01"),
    traceOf([attemptOf()], { interventions: [{ op: null, what: "killed", by: "", from: 500, until: 900 }] }),
    "INCONCLUSIVE"
  ],
  [
    "a receiver that did not start again",
    judgeOf("R-CRA-04"),
    traceOf([], { interventions: [{ op: 0, what: "killed", by: "", from: 0, until: 1, down: "3 times in 9 s" }] }),
    "FAIL MUST"
  ],
  [
    "a late answer after a restart",
    judgeOf("R-CRA-04"),
    traceOf([attemptOf({ op: 2, started: 950, exchange: late })], { interventions: restarted }),
    "FAIL MUST timing"
  ],
  [
    "a malformed request that was accepted",
    judgeOf("R-LOS-02"),
    traceOf([attemptOf({ kind: "malformed" }), attemptOf(again)], { effects: [counted(0)] }),
    "PASS"
  ],
  [
    "data of another request stored under concurrency",
    judgeOf("R-FWD-02"),
    traceOf([attemptOf({ inFlight: 10 })], {
      history: { v: 1, ops: [{ k: "filler", count: 40 }] },
      effects: [{ ...counted(1), digest: "sha256:1" }]
    }),
    "FAIL MUST"
  ]
]

describe("a judgement", () => {
  for (const [what, judge, trace, expected] of rows) {
    it(`of ${what} is ${expected}`, () => {
      const finding = judge(trace, defaultCriteria)
      const found =
        finding.verdict === "FAIL" ? `FAIL ${finding.strength}${finding.timing ? " timing" : ""}` : finding.verdict
      assert.strictEqual(found, expected)
    })
  }

  it("says of an acknowledged malformed event that it was never sent as a genuine event", () => {
    const finding = noPhantom(special({ kind: "malformed" }, 1), defaultCriteria)
    assert.strictEqual(
      finding.verdict === "FAIL" ? finding.observed : "",
      "effects = 1 for event 1 (evt_1), requested once, never sent as a genuine event"
    )
  })
})

describe("an exchange", () => {
  const readings: ReadonlyArray<readonly [exchange: Exchange, reading: string]> = [
    [answered(200, 4_950), "acknowledged"],
    [answered(200, 4_951), "borderline"],
    [answered(200, 5_051), "late"],
    [{ ...answered(200, 10), elapsed: 5_020 }, "borderline"],
    [{ ...answered(200, 5_100), stalled: 51 }, "borderline"],
    [{ ...answered(200, 5_102), stalled: 51 }, "late"],
    [{ ...answered(200, 10), elapsed: 5_100, stalled: 51 }, "borderline"],
    [{ ...answered(200, 4_900), stalled: 4_000 }, "acknowledged"],
    [answered(302), "refused"],
    [late, "late"],
    [endless, "unfinished"],
    [cutOff, "broken"],
    [reset, "broken"]
  ]
  it.each(readings)("%#: %o is %s", (exchange, reading) => {
    assert.strictEqual(classify(exchange, defaultCriteria), reading)
  })

  it("is classified despite a wide guard, and by the run's rule about statuses", () => {
    assert.strictEqual(classify(answered(200, 3_750), { ...defaultCriteria, guard: 6_000 }), "acknowledged")
    assert.strictEqual(classify(answered(204), { ...defaultCriteria, rule: "2xx" }), "acknowledged")
    assert.strictEqual(classify(answered(302), { ...defaultCriteria, rule: "2xx" }), "refused")
  })
})

it("findings on one trace are ranked: proven failures, late answers, open findings, broken SHOULDs, passes", () => {
  const [lateOne, twice, weak] = [
    fail(0, "late", { timing: true }),
    fail(1, "twice"),
    fail(2, "weak", { strength: "SHOULD" })
  ]
  const open = inconclusive(0, "near")
  assert.strictEqual(both(pass([0]), lateOne, open, twice), twice)
  assert.strictEqual(both(open, lateOne, weak), lateOne)
  assert.strictEqual(both(weak, open), open)
  assert.strictEqual(both(weak, pass([0])), weak)
})

describe("the symptom of a failure", () => {
  const forgery = attemptOf({ kind: "forged", exchange: answered(401) })
  const [refusal, acknowledged] = [attemptOf({ ...again, exchange: answered(409) }), attemptOf()]
  const withEffects = (count: number, ...attempts: ReadonlyArray<Attempt>): Trace =>
    traceOf(attempts, { effects: [counted(count)] })
  const rows: ReadonlyArray<readonly [shows: string | null, judge: Judge, trace: Trace]> = [
    ["unacknowledged", everyAttempt, each(answered(500))],
    ["unacknowledged", everyAttempt, traceOf([forgery, refusal])],
    ["duplicate_refused", everyAttempt, traceOf([acknowledged, refusal])],
    ["lost", exactlyOnce, withEffects(0, acknowledged)],
    ["lost", exactlyOnce, withEffects(0, forgery, attemptOf(again))],
    ["doubled", exactlyOnce, withEffects(2, acknowledged, attemptOf({ ...again, started: 9 }))],
    ["doubled_at_once", exactlyOnce, withEffects(2, acknowledged, attemptOf({ started: 2 }))],
    [null, noPhantom, withEffects(2, forgery)]
  ]
  it.each(rows)("is %s", (shows, judge, trace) => {
    const finding = judge(trace, defaultCriteria)
    assert.strictEqual(finding.verdict === "FAIL" ? finding.symptom : "passed", shows)
  })
})

describe("a limit in words", () => {
  const refused = (asked: number | null, before: number): Attempt =>
    attemptOf({ exchange: answered(429), limit: { asked, before } })

  it.each([
    [
      "a second",
      [refused(1_000, 15), refused(1_000, 0)],
      /^limits to about 15 requests a second, asked for a pause of 1 s: .*, after 15 requests in the last second$/
    ],
    [
      "the pause that it asks for",
      [refused(10_000, 100)],
      /^limits to about 10 requests a second, .*, after 100 requests in the last 10 s$/
    ],
    ["a minute", [refused(60_000, 30)], /^limits to about 30 requests a minute, /],
    [
      "a second if nothing is answered yet",
      [refused(null, 0), refused(null, 4)],
      /^limits to about 4 requests a second, asked for no pause: /
    ]
  ] as const)("counts over %s", (_, attempts, words) => {
    assert.match(limitInWords(attempts), words)
  })
})
