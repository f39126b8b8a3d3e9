/**
 * The checks: each shown what it must pass, what it must fail and what it must leave open.
 */
import { assert, describe, it } from "@effect/vitest"
import { everyAnswerComplete } from "../src/checks/CompleteAnswer.ts"
import { everyDuplicateAcknowledged } from "../src/checks/Duplicates.ts"
import { atMostOnce, storedAsSent } from "../src/checks/EachEvent.ts"
import { everyStatusAcknowledges } from "../src/checks/ExactStatus.ts"
import type { Finding } from "../src/checks/Finding.ts"
import { both, fail, inconclusive, pass } from "../src/checks/Finding.ts"
import { everyFirstAttemptAcknowledged } from "../src/checks/FirstAttempts.ts"
import { everyStatusInTime } from "../src/checks/InTime.ts"
import { oncePerEndpoint } from "../src/checks/PerEndpoint.ts"
import { read } from "../src/checks/Reading.ts"
import { copiesAnswered, everyAttemptAcknowledged } from "../src/checks/Retried.ts"
import type { Terms } from "../src/checks/Terms.ts"
import { everyLoadedAttempt } from "../src/checks/UnderLoad.ts"
import type { Exchange } from "../src/observed/Exchange.ts"
import type { Attempt, Trace } from "../src/observed/Trace.ts"

const terms: Terms = { deadline: 5_000, guard: 50, rule: "200", dedupKey: "both" }

type Answered = Extract<Exchange, { readonly _tag: "Answered" }>

const answered = (status: number, changes: Partial<Answered> = {}): Exchange => ({
  _tag: "Answered",
  status,
  retry_after: null,
  location: null,
  excerpt: "",
  headers_elapsed: 3,
  elapsed: 4,
  ending: "complete",
  bytes: 0,
  detail: null,
  headers: {},
  ...changes
})

const failed = (outcome: "timeout" | "connection_reset" | "invalid_response"): Exchange => ({
  _tag: "Failed",
  outcome,
  detail: "",
  elapsed: outcome === "timeout" ? 5_050 : 3,
  connected: true
})

const at = (elapsed: number): Exchange => answered(200, { headers_elapsed: elapsed, elapsed })
const good = answered(200)
const late = failed("timeout")
const reset = failed("connection_reset")
const endless = answered(200, { ending: "unfinished", elapsed: 5_060 })
const cutOff = answered(200, { ending: "cut_off" })
const overlong = answered(200, { ending: "malformed" })

const attemptOf = (exchange: Exchange, about: Partial<Attempt> = {}): Attempt => ({
  kind: "delivery",
  provisional: false,
  endpoint: "http://127.0.0.1/hook",
  op: 0,
  event: 0,
  number: 1,
  first: true,
  raced: false,
  webhook_id: "evt_1",
  request: { method: "POST", headers: {}, body: "", encoding: "utf8" },
  reused: false,
  started: 0,
  exchange,
  ...about
})

const traceOf = (attempts: ReadonlyArray<Attempt>): Trace => ({
  history: { v: 1, ops: [] },
  events: [],
  attempts,
  interventions: [],
  shortfalls: [],
  effects: [],
  effectsElsewhere: []
})

/** Events sent once each. */
const events = (...exchanges: ReadonlyArray<Exchange>): Trace =>
  traceOf(exchanges.map((exchange, index) => attemptOf(exchange, { op: index, event: index })))

/** One event sent again and again. */
const repeated = (...exchanges: ReadonlyArray<Exchange>): Trace =>
  traceOf(exchanges.map((exchange, index) => attemptOf(exchange, { op: index, number: index + 1, first: index === 0 })))

const verdictOf = ({ verdict }: Finding): string => verdict
const timingOf = (finding: Finding): boolean | null => (finding.verdict === "FAIL" ? finding.timing : null)

describe("reading an exchange", () => {
  const readings: ReadonlyArray<readonly [Exchange, string]> = [
    [good, "acknowledged"],
    [at(4_950), "acknowledged"],
    [at(4_951), "borderline"],
    [at(5_050), "borderline"],
    [at(5_051), "late"],
    [answered(200, { headers_elapsed: 10, elapsed: 5_020 }), "borderline"],
    [answered(202), "refused"],
    [answered(302), "refused"],
    [answered(409), "refused"],
    [late, "late"],
    [endless, "unfinished"],
    [answered(200, { ending: "unfinished", elapsed: 5_049 }), "unfinished"],
    [cutOff, "broken"],
    [overlong, "broken"],
    [reset, "broken"],
    [failed("invalid_response"), "broken"]
  ]
  it.each(readings)("%#: %o is %s", (exchange, reading) => {
    assert.strictEqual(read(exchange, terms), reading)
  })

  it("is not kept from counting by a machine that times badly", () => {
    const busy = { ...terms, guard: 6_000 }
    assert.strictEqual(read(good, busy), "acknowledged")
    assert.strictEqual(read(at(3_750), busy), "acknowledged")
    assert.strictEqual(read(at(3_751), busy), "borderline")
    assert.strictEqual(read(at(11_001), busy), "late")
  })

  it("takes any 2xx where that is the rule, and no 3xx", () => {
    assert.strictEqual(read(answered(204), { ...terms, rule: "2xx" }), "acknowledged")
    assert.strictEqual(read(answered(302), { ...terms, rule: "2xx" }), "refused")
  })
})

describe("first attempts", () => {
  it("pass when all are acknowledged", () => {
    assert.deepStrictEqual(everyFirstAttemptAcknowledged(events(good, good), terms), {
      verdict: "PASS",
      attempts: [0, 1],
      events: 0
    })
  })

  it("fail where one is wrong, though another before it is open", () => {
    const finding = everyFirstAttemptAcknowledged(events(at(5_000), answered(500)), terms)
    assert.strictEqual(finding.verdict, "FAIL")
    assert.strictEqual(everyFirstAttemptAcknowledged(events(at(5_000), good), terms).verdict, "INCONCLUSIVE")
  })

  it("fail at the first that is not, and by timing only when it was one of time", () => {
    const finding = everyFirstAttemptAcknowledged(events(good, answered(500), late), terms)
    assert.deepStrictEqual(finding, {
      verdict: "FAIL",
      attempt: 1,
      event: null,
      observed: "500 after 3 ms",
      timing: false
    })
    assert.isTrue(timingOf(everyFirstAttemptAcknowledged(events(late), terms)))
    assert.isTrue(timingOf(everyFirstAttemptAcknowledged(events(endless), terms)))
    assert.isFalse(timingOf(everyFirstAttemptAcknowledged(events(reset), terms)))
  })

  it("fail for what is wrong at any time rather than for what came late before it", () => {
    assert.deepInclude(everyFirstAttemptAcknowledged(events(late, at(5_000), answered(500)), terms), {
      attempt: 2,
      timing: false
    })
    assert.deepInclude(everyFirstAttemptAcknowledged(events(good, at(5_000), late, endless), terms), { attempt: 2 })
  })

  it("leave open what is near the deadline, and what was not sent", () => {
    assert.strictEqual(verdictOf(everyFirstAttemptAcknowledged(events(good, at(5_000)), terms)), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(everyFirstAttemptAcknowledged(events(), terms)), "INCONCLUSIVE")
  })

  it("say nothing of duplicates and of copies sent at once", () => {
    const duplicate = repeated(good, answered(409))
    assert.strictEqual(verdictOf(everyFirstAttemptAcknowledged(duplicate, terms)), "PASS")
    const raced = traceOf([attemptOf(answered(409), { raced: true }), attemptOf(good)])
    assert.strictEqual(verdictOf(everyFirstAttemptAcknowledged(raced, terms)), "PASS")
  })
})

describe("status", () => {
  it("passes with 200 alone", () => {
    assert.strictEqual(verdictOf(everyStatusAcknowledges(events(good, reset), terms)), "PASS")
    for (const status of [201, 202, 204, 302, 404, 500]) {
      assert.strictEqual(verdictOf(everyStatusAcknowledges(events(good, answered(status)), terms)), "FAIL")
    }
  })

  it("is open when no answer came", () => {
    assert.strictEqual(verdictOf(everyStatusAcknowledges(events(late, reset), terms)), "INCONCLUSIVE")
  })
})

describe("time", () => {
  it("passes well before the deadline, whatever the status and the body", () => {
    assert.strictEqual(verdictOf(everyStatusInTime(events(at(4_950), answered(500), endless), terms)), "PASS")
  })

  it("fails well after it, pending a repeat", () => {
    assert.isTrue(timingOf(everyStatusInTime(events(good, at(5_051)), terms)))
    assert.isTrue(timingOf(everyStatusInTime(events(late), terms)))
  })

  it("is open in between, and where the connection broke", () => {
    assert.strictEqual(verdictOf(everyStatusInTime(events(good, at(5_000)), terms)), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(everyStatusInTime(events(reset), terms)), "INCONCLUSIVE")
  })
})

describe("the end of the answer", () => {
  it("passes when it is whole and in time", () => {
    assert.strictEqual(verdictOf(everyAnswerComplete(events(good, answered(500)), terms)), "PASS")
  })

  it("fails when it never comes, comes too early, or is not where it was announced", () => {
    assert.isTrue(timingOf(everyAnswerComplete(events(good, endless), terms)))
    for (const exchange of [cutOff, overlong, reset, failed("invalid_response")]) {
      assert.isFalse(timingOf(everyAnswerComplete(events(good, exchange), terms)))
    }
  })

  it("is open when it is near the deadline, or nothing began in time", () => {
    const near = answered(200, { elapsed: 5_000 })
    assert.strictEqual(verdictOf(everyAnswerComplete(events(good, near), terms)), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(everyAnswerComplete(events(late), terms)), "INCONCLUSIVE")
  })
})

describe("duplicates", () => {
  it("pass when all are acknowledged, even after a refusal or silence", () => {
    for (const first of [good, answered(500), late, reset]) {
      assert.deepStrictEqual(everyDuplicateAcknowledged(repeated(first, good), terms), {
        verdict: "PASS",
        attempts: [1],
        events: 0
      })
    }
  })

  it("fail when one is refused, breaks or hangs", () => {
    assert.isFalse(timingOf(everyDuplicateAcknowledged(repeated(good, good, answered(409)), terms)))
    assert.isFalse(timingOf(everyDuplicateAcknowledged(repeated(good, reset), terms)))
    assert.isTrue(timingOf(everyDuplicateAcknowledged(repeated(good, late), terms)))
    assert.isFalse(
      timingOf(everyDuplicateAcknowledged(repeated(answered(500), answered(409)), terms)),
      "poisoned by 500"
    )
  })

  it("are not to blame for what the first attempt met as well", () => {
    for (const exchange of [answered(202), reset, late]) {
      assert.strictEqual(verdictOf(everyDuplicateAcknowledged(repeated(exchange, exchange), terms)), "INCONCLUSIVE")
    }
  })

  it("may be refused while an earlier attempt may still run", () => {
    assert.strictEqual(verdictOf(everyDuplicateAcknowledged(repeated(late, answered(409)), terms)), "INCONCLUSIVE")
    const copies = [answered(409), good].map((exchange) => attemptOf(exchange, { raced: true }))
    const retried = attemptOf(good, { op: 1, first: false })
    assert.deepStrictEqual(everyDuplicateAcknowledged(traceOf([...copies, retried]), terms), {
      verdict: "PASS",
      attempts: [2],
      events: 0
    })
    const refused = attemptOf(answered(409), { op: 1, first: false })
    assert.strictEqual(verdictOf(everyDuplicateAcknowledged(traceOf([...copies, refused]), terms)), "FAIL")
  })

  it("of which several come at once may be refused in part, as those of a new event are, and none may hang", () => {
    const copies = (exchange: Exchange) =>
      [good, exchange].map((one) => attemptOf(one, { op: 1, first: false, raced: true }))
    const judged = (exchange: Exchange) => {
      const trace = traceOf([attemptOf(good), ...copies(exchange)])
      return [everyDuplicateAcknowledged(trace, terms), copiesAnswered(trace, terms)].map(verdictOf)
    }
    assert.deepStrictEqual(judged(answered(409)), ["PASS", "PASS"])
    for (const wrong of [reset, late]) assert.deepStrictEqual(judged(wrong), ["FAIL", "FAIL"])
  })

  it("of one event say nothing of another", () => {
    const trace = traceOf([
      attemptOf(answered(202), { op: 0, event: 0 }),
      attemptOf(answered(503), { op: 1, event: 1 }),
      attemptOf(answered(503), { op: 2, event: 0, first: false })
    ])
    assert.strictEqual(verdictOf(everyDuplicateAcknowledged(trace, terms)), "FAIL")
  })

  it("are open when there were none", () => {
    assert.strictEqual(verdictOf(everyDuplicateAcknowledged(events(good), terms)), "INCONCLUSIVE")
  })
})

describe("what is stored", () => {
  const changed = (first: Exchange): Trace => ({
    ...repeated(first, good),
    events: [
      { webhookId: "evt_1", resourceType: "call", dataId: "7", documented: true, digest: "sha256:00", bulk: false }
    ],
    effects: [{ last: 1, most: 1, digest: "sha256:01" }]
  })
  it("must be what was acknowledged first, and may be what came after a late answer", () => {
    assert.strictEqual(verdictOf(storedAsSent(changed(good), terms)), "FAIL")
    assert.strictEqual(verdictOf(storedAsSent(changed(late), terms)), "INCONCLUSIVE")
  })
})

describe("attempts that are all to be acknowledged", () => {
  it("fail for a refusal, which may come from a late answer to the same event", () => {
    const refused = everyAttemptAcknowledged(repeated(good, late, answered(409)), terms)
    assert.deepInclude(refused, { attempt: 2, timing: false })
    const stillRunning = repeated(late, answered(409))
    assert.deepInclude(everyAttemptAcknowledged(stillRunning, terms), { attempt: 0, timing: true })
    const cutBefore = repeated(late, answered(409)).attempts.map((one, index) =>
      index === 0 ? attemptOf(late, { kind: "cut" }) : one
    )
    assert.deepInclude(everyAttemptAcknowledged(traceOf(cutBefore), terms), { attempt: 1, timing: false })
  })
})

describe("findings on one trace", () => {
  it("break it by what is proven, rather than by what may be an accident", () => {
    const [lateOne, twice] = [fail(0, "late", true), fail(1, "twice")]
    assert.strictEqual(both(pass([0]), lateOne, inconclusive(0, "near"), twice), twice)
    assert.strictEqual(both(inconclusive(0, "near"), lateOne, pass([0])), lateOne)
  })
})

describe("two URLs", () => {
  /** One event at one or both of them, of which the probe says this. */
  const urls = (sent: 1 | 2, here: number, there: number, blindToUrls?: boolean): Trace => ({
    ...traceOf(
      [attemptOf(good), attemptOf(good, { endpoint: "http://127.0.0.1/hook/other", first: false })].slice(0, sent)
    ),
    events: [
      { webhookId: "evt_1", resourceType: "call", dataId: "7", documented: true, digest: "sha256:00", bulk: false }
    ],
    effects: [{ last: here, most: here, digest: null }],
    effectsElsewhere: [{ last: there, most: there, digest: null }],
    ...(blindToUrls === undefined ? {} : { blindToUrls })
  })
  const rows: ReadonlyArray<readonly [string, Trace, string, string]> = [
    ["one effect each, told apart", urls(2, 1, 1), "PASS", "PASS"],
    ["the second dropped, told apart", urls(2, 1, 0), "FAIL", "PASS"],
    ["two effects each, told apart", urls(2, 2, 2, false), "FAIL", "FAIL"],
    ["one effect each, counted together", urls(2, 2, 2, true), "PASS", "PASS"],
    ["the second dropped, counted together", urls(2, 1, 1, true), "FAIL", "PASS"],
    ["three effects, counted together", urls(2, 3, 3, true), "FAIL", "FAIL"],
    ["one URL, and an effect at the other, told apart", urls(1, 1, 1, false), "FAIL", "PASS"],
    ["one URL, told apart", urls(1, 1, 0, false), "PASS", "PASS"],
    ["one URL, it is not known how counted", urls(1, 1, 1), "PASS", "PASS"],
    ["one URL, counted together", urls(1, 1, 1, true), "PASS", "PASS"],
    ["one URL and two effects, counted together", urls(1, 2, 2, true), "FAIL", "FAIL"]
  ]
  it.each(rows)("%s", (_, trace, perEndpoint, atMost) => {
    assert.strictEqual(verdictOf(oncePerEndpoint(trace, terms)), perEndpoint)
    assert.strictEqual(verdictOf(atMostOnce(trace, terms)), atMost)
  })

  it("that are counted together are named where one delivery was dropped", () => {
    const found = oncePerEndpoint(urls(2, 1, 1, true), terms)
    assert.include(found.verdict === "FAIL" ? found.observed : "", "the probe does not tell the URLs apart")
  })
})

describe("load", () => {
  const loaded = (heldUp: number, ...exchanges: ReadonlyArray<Exchange>): Trace => ({
    ...traceOf(exchanges.map((exchange, event) => attemptOf(exchange, { kind: "load", event }))),
    shortfalls: [{ op: 0, what: "connections", done: exchanges.length - heldUp, of: exchanges.length }]
  })
  it("fails for what is late, but not for what the suite sent too late", () => {
    assert.strictEqual(verdictOf(everyLoadedAttempt(loaded(0, good, late), terms)), "FAIL")
    assert.strictEqual(verdictOf(everyLoadedAttempt(loaded(1, good, late), terms)), "INCONCLUSIVE")
    assert.strictEqual(verdictOf(everyLoadedAttempt(loaded(1, late, late), terms)), "FAIL")
    assert.strictEqual(verdictOf(everyLoadedAttempt(loaded(1, at(9_000), answered(503)), terms)), "FAIL")
    assert.strictEqual(verdictOf(everyLoadedAttempt(loaded(0, good, good), terms)), "PASS")
  })
})
