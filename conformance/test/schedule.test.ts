import { assert, describe, it } from "@effect/vitest"
import { Struct } from "effect"
import { accessLog } from "../src/history/Events.ts"
import { keyOf, makeCase, newEvent } from "../src/history/History.ts"
import type { Case, Lane } from "../src/history/History.ts"
import { endsReceiver, movesClock } from "../src/history/Operations.ts"
import { defaults } from "../src/record/Options.ts"
import { plansOf } from "../src/record/Outcome.ts"
import { needs } from "../src/requirements/Requirement.ts"
import type { Need } from "../src/requirements/Requirement.ts"
import { fitting, lastUntil, longestFirst, reserveOf, scheduleOf, timeOfAll, timeShares } from "../src/run/Schedule.ts"

const options = { ...defaults, url: ["http://127.0.0.1/"], seed: 1, level: 3 } as const
const sight = new Set<Need>(["effects", "digest", "stop", "kill", "pause"])
const plans = plansOf(options, sight)
const batches = scheduleOf(plans)
/** Lanes that run at a fixed place of a run, whatever the step of their cases. */
const apart: ReadonlySet<Lane> = new Set(["last", "quiet", "aged"])

/** Receivers that answer within 300 ms. */
const usual = { answer: 300, interval: 0, pace: 1 }

describe("the schedule of a run", () => {
  it("contains each history once", () => {
    const keys = batches.flatMap(({ cases }) => cases.map(({ history }) => keyOf(history)))
    assert.strictEqual(new Set(keys).size, keys.length)
    const asked = plans.flatMap(({ further, given, sampled }) => [...given, ...further, ...sampled])
    assert.deepStrictEqual(new Set(keys), new Set(asked.map(({ history }) => keyOf(history))))
  })

  it("runs given cases before further ones, and those before drawn ones", () => {
    const ordered = batches.filter(({ lane, movesClock: moves }) => !apart.has(lane) && !moves)
    const order = ordered.map(({ step }) => ["given", "further", "sampled"].indexOf(step))
    assert.deepStrictEqual(
      order,
      order.toSorted((a, b) => a - b)
    )
  })

  it("runs one case of each requirement before a second one", () => {
    const late: Array<string> = []
    for (const { cases, firsts, step } of batches) {
      const keysIn = cases.map(({ history }) => keyOf(history))
      const first = new Set(keysIn.slice(0, firsts))
      for (const plan of plans) {
        const own = plan[step].map(({ history }) => keyOf(history)).filter((key) => keysIn.includes(key))
        if (own.length > 0 && !own.some((key) => first.has(key))) late.push(plan.requirement.id)
      }
    }
    assert.deepStrictEqual(late, [])
  })

  it("separates cases that end the receiver from others, and moves the clock last", () => {
    const every = plansOf({ ...options, profile: ["clock"] }, new Set(Struct.keys(needs)))
    const all = scheduleOf(every)
    for (const batch of all) {
      const ends = batch.cases.map(({ history }) => history.ops.some(endsReceiver))
      if (!batch.movesClock && !apart.has(batch.lane)) {
        assert.strictEqual(new Set(ends).size, 1)
        assert.strictEqual(ends[0], batch.endsReceiver)
      }
      const moves = batch.cases.map(({ history }) => history.ops.some(movesClock))
      assert.strictEqual(new Set(moves).size, 1)
    }
    assert.isTrue(all.at(-1)?.movesClock)
    assert.isFalse(all.slice(0, -1).some((batch, place) => batch.movesClock && all[place + 1]?.movesClock === false))
  })

  it("has time for every given case in two minutes, with a receiver that takes 300 ms for each answer", () => {
    let time = 0
    const given = batches.filter(({ lane, step }) => step === "given" && !apart.has(lane))
    for (const [place, batch] of given.entries()) {
      const left = 120_000 * timeShares.until.given - time - reserveOf(given.slice(place + 1), "given", usual)
      const cases = fitting(batch, left, usual)
      assert.strictEqual(cases.length, batch.cases.length, `${batch.lane}: ${time} ms were spent before it`)
      time += timeOfAll(batch.lane, cases, usual)
    }
  })

  it("leaves out cases that do not fit, but never the first of a requirement", () => {
    const [batch] = batches.filter(({ lane, step }) => lane === "state" && step === "given")
    assert.isDefined(batch)
    const few: ReadonlyArray<Case> = fitting(batch, 0, { ...usual, answer: 5_000 })
    assert.strictEqual(few.length, batch.firsts)
    assert.isAbove(batch.cases.length, few.length)
  })

  it("ends with the lanes quiet and last, before cases that move the clock", () => {
    const lanes = batches.filter(({ movesClock: moves }) => !moves).map(({ lane }) => lane)
    assert.deepStrictEqual(lanes.slice(-2), ["quiet", "last"])
    assert.strictEqual(lanes.filter((lane) => lane === "quiet").length, 1)
  })

  it("kills the receiver before it pauses it, which takes longer", () => {
    const operated = batches.filter(({ lane, step }) => lane === "operated" && step === "given")
    assert.deepStrictEqual(
      operated.map(({ endsReceiver: ends }) => ends),
      [true, false]
    )
  })

  it("begins the cases with the longest waits first in a concurrent lane, and keeps the order in others", () => {
    const waiting = makeCase("state", "waits", newEvent(accessLog), { k: "idle", ms: 500 })
    const quick = makeCase("state", "is quick", newEvent(accessLog))
    assert.deepStrictEqual(longestFirst("state", [quick, waiting]), [waiting, quick])
    assert.deepStrictEqual(longestFirst("timing", [quick, waiting]), [quick, waiting])
  })

  it("gives the lane last 12 seconds, a tenth of a long run, and some time in any case", () => {
    const ends = [
      [1_000, 40_000],
      [30_000, 40_000],
      [36_000, 40_000],
      [40_000, 120_000],
      [110_000, 120_000],
      [118_000, 120_000],
      [200_000, 600_000]
    ] as const
    assert.deepStrictEqual(
      ends.map(([now, maxTime]) => Math.round(lastUntil(now, maxTime))),
      [13_000, 35_200, 37_400, 52_000, 114_000, 114_000, 260_000]
    )
  })
})
