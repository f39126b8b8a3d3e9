/**
 * The steps of a history in words. They include the actions of other cases on the receiver, at the steps where these
 * happened.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Intervention } from "../../src/evidence/Trace.ts"
import { accessLog } from "../../src/history/Events.ts"
import { again, newEvent } from "../../src/history/History.ts"
import type { Operation } from "../../src/history/Operations.ts"
import { retry } from "../../src/history/Variations.ts"
import { defaultCriteria } from "../../src/judgement/Criteria.ts"
import type { Symptom } from "../../src/judgement/Verdict.ts"
import { notableEffects } from "../../src/report/Blocks.ts"
import { effectsOf, stepsOf } from "../../src/report/Steps.ts"
import { answered, attemptOf, counted, traceOf } from "../support/traces.ts"

const long: ReadonlyArray<Operation> = [newEvent(accessLog), { k: "age", ms: 42_000 }, again(0, retry)]

const at = (from: number, what: Intervention["what"], op: number | null = null) => ({
  op,
  what,
  by: "another case",
  from,
  until: from + 10
})

interface Situation {
  readonly follows?: boolean
  readonly symptom?: Symptom | null
}

const textsOf = (
  interventions: ReadonlyArray<ReturnType<typeof at>>,
  otherEvents = 0,
  { follows = false, symptom = "lost" }: Situation = {}
): ReadonlyArray<string> => {
  const attempts = [attemptOf({ op: 0, started: 0 }), attemptOf({ op: 2, started: 42_000, number: 2 })]
  const trace = traceOf(attempts, { ops: long, began: 1_000, ended: 50_000, interventions, otherEvents })
  const run = { title: "", lane: "aged", alone: false, trace, whole: true, settled: true, repeats: [] } as const
  const more = {
    attempt: 1,
    event: 0,
    because: "",
    criteria: defaultCriteria,
    origin: "fixed",
    symptom,
    isOrdinary: false
  } as const
  return stepsOf({ run, trace, ...more }, follows).map(({ did }) => did)
}

const part = ", which matters if it keeps ids or effects in memory"
const [first = "", wait = "", last = ""] = textsOf([])

describe("steps", () => {
  it("say what other cases did while nothing was sent, and how many events they sent", () => {
    const texts = textsOf([at(2_000, "killed"), at(9_000, "killed"), at(30_000, "restarted")], 1_586)
    const others = `; in between, other cases killed the receiver 2 times, restarted it and sent 1,586 other events${part}`
    assert.deepStrictEqual(texts, [first, `${wait}${others}`, last])
  })

  it("say it at the step where it happened, and leave out the history's own actions", () => {
    assert.deepStrictEqual(textsOf([at(43_500, "paused")]), [
      first,
      wait,
      `${last}; in between, other cases paused the receiver${part}`
    ])
    assert.deepStrictEqual(textsOf([at(2_000, "killed", 1)]), [first, wait, last])
  })

  it("say it only if it may have contributed to the failure", () => {
    const killed = [at(2_000, "killed")]
    assert.deepStrictEqual(textsOf(killed, 0, { symptom: null }), [first, wait, last], "a wrong answer is wrong anyway")
    assert.deepStrictEqual(textsOf(killed, 0, { follows: true }), [first, wait, last], "ordinary events show it too")
  })

  it("say that an event was sent again after a pause if a limit of the receiver refused it", () => {
    const refused = attemptOf({ exchange: answered(503), limit: { asked: null, before: 9 }, inFlight: 10 })
    const attempts = [refused, attemptOf({ number: 2, started: 1_000 }), { ...refused, event: 1 }]
    const trace = traceOf(attempts, { ops: [newEvent(accessLog)] })
    const run = { title: "", lane: "state", alone: false, trace, whole: true, settled: true, repeats: [] } as const
    const [step] = stepsOf(
      {
        run,
        trace,
        attempt: 0,
        event: 0,
        symptom: null,
        isOrdinary: true,
        because: "",
        criteria: defaultCriteria,
        origin: "fixed"
      },
      false
    )
    const answer = "503 after 5 ms, with 10 requests in flight and after 9 requests in the last second"
    assert.deepStrictEqual(
      step?.attempts.map(({ got }) => got),
      [`${answer}; sent again after a pause`, "200 after 5 ms", answer]
    )
  })
})

describe("effects", () => {
  it("are those of the last reading, with a higher earlier count and with data that is stored differently", () => {
    const attempts = [0, 1, 2, 3].map((event) => attemptOf({ event }))
    const effects = [
      counted(1),
      counted(0, 1),
      counted(1, 2),
      { last: 1, most: 1, digest: "sha256:1", data: '{"id":1}' }
    ]
    const reported = effectsOf({
      attempt: null,
      criteria: defaultCriteria,
      event: 2,
      trace: traceOf(attempts, { effects })
    })
    assert.deepStrictEqual(
      reported.map((one) => [one.effects, one.most, one.digestMatches, one.stored]),
      [
        [1, 2, null, undefined],
        [1, undefined, null, undefined],
        [0, 1, null, undefined],
        [1, undefined, false, '{"id":1}']
      ]
    )
    assert.deepStrictEqual(notableEffects({ effects: reported }), [
      "event 3 took effect once at the latest reading, 2 times before (webhook-id evt_3)",
      "event 2 took no effect at the latest reading, once before (webhook-id evt_2)",
      "event 4 took effect once, and the stored data differs from what was sent (webhook-id evt_4)",
      "the other event took effect once"
    ])
  })

  it("leave out what a limit refused, and sum up what is right", () => {
    const limit = { asked: 1_000, before: 9 }
    const trace = traceOf(
      [0, 1, 2, 3, 4, 5, 6].map((event) =>
        attemptOf({ kind: "load", event, ...(event === 6 ? { exchange: answered(429), limit } : {}) })
      ),
      { effects: [1, 1, 1, 1, 1, 1, 0].map((count) => counted(count)) }
    )
    const effects = effectsOf({ attempt: 0, criteria: defaultCriteria, event: null, trace })
    assert.deepStrictEqual(notableEffects({ effects }), ["all 6 events took effect once"])
  })
})
