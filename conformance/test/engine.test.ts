/**
 * The engine on a correct receiver, on receivers whose faults are hard to see, and on unreliable probes.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import type { Report } from "../src/report/Report.ts"
import { StoredCase } from "../src/run/StoredCase.ts"
import { model } from "./support/model.ts"
import type { Delivery, Manners } from "./support/model.ts"
import { run as runSuite } from "./support/run.ts"
import type { Tested } from "./support/run.ts"
import { evidenceIn, saidAgain } from "./support/stored.ts"

/**
 * Runs the suite on a model in this process. Effects are complete when the model answers, so waits can be short. The
 * stored evidence of the run must give the same report.
 */
const run = Effect.fnUntraced(function* (manners: Manners, options: Partial<Tested> = {}) {
  const target = yield* model(manners)
  const trace = `${yield* temporaryFolder}/trace.ndjson`
  const report = yield* runSuite({
    url: target.url,
    trace,
    probe: target.probe,
    hooks: target.hooks,
    level: 2,
    settle: 300,
    maxTime: 60_000,
    pace: 0.05,
    seed: 7,
    ...options
  })
  // With stored histories the reports differ, because evidence does not contain their files.
  if (options.cases === undefined) assert.deepStrictEqual(yield* saidAgain(trace), report)
  return report
})

const idsWith = (report: Report, verdict: string): ReadonlyArray<string> =>
  report.requirements.filter((one) => one.verdict === verdict).map(({ id }) => id)

const shown = (report: Report): string =>
  report.requirements
    .filter(({ verdict }) => verdict !== "PASS")
    .map(({ id, observed, verdict }) => `${verdict} ${id} ${observed}`)
    .join("\n")

describe.concurrent("a correct receiver", () => {
  it.live("passes all of level 2, except what can't be observed", () =>
    Effect.gen(function* () {
      const report = yield* run({}, { maxTime: 120_000 })
      assert.deepStrictEqual(idsWith(report, "FAIL"), [], shown(report))
      assert.deepStrictEqual(idsWith(report, "INCONCLUSIVE"), [], shown(report))
      assert.deepStrictEqual(idsWith(report, "NOT_OBSERVABLE"), ["R-DUP-06", "R-LATE-02"])
      assert.strictEqual(report.verdict, "pass")
      assert.deepStrictEqual(report.calibration.probe?.double, { expected: 2, observed: 2 })
      assert.isTrue(report.calibration.probe?.upperRangeVerified)
      assert.isAbove(report.timing.attempts, 10)
    })
  )

  it.live("without digests leaves stored data unobserved, and does not fail", () =>
    Effect.gen(function* () {
      const report = yield* run({ digest: false }, { only: ["R-FWD-02", "R-DUP-07"] })
      assert.deepStrictEqual(idsWith(report, "NOT_OBSERVABLE"), ["R-DUP-07", "R-FWD-02"], shown(report))
      assert.strictEqual(report.verdict, "inconclusive", "nothing passed")
    })
  )
})

describe("a receiver in a busy process, with a turn of the event loop between check and record", () => {
  it.live("fails, although its process accepts one connection per turn", () =>
    Effect.gen(function* () {
      let isBusy = true
      const takeTurn = (): void => {
        const until = performance.now() + 2
        while (performance.now() < until);
        if (isBusy) setImmediate(takeTurn)
      }
      yield* Effect.addFinalizer(() => Effect.sync(() => (isBusy = false)))
      takeTurn()
      const report = yield* run({ notesLater: true }, { only: ["R-DUP-04"] })
      assert.deepStrictEqual(idsWith(report, "FAIL"), ["R-DUP-04"], shown(report))
    })
  )
})

describe.concurrent("a case whose answer was late", () => {
  it.live("is also judged by the effects of its repeat", () =>
    Effect.gen(function* () {
      const unnamed = '"name":""'
      const came: Array<number> = []
      const work: Manners["work"] = ({ body, index }) => (body.includes(unnamed) && came.push(index) === 1 ? 2_500 : 0)
      const stores: Manners["stores"] = (data, { index }) =>
        index === came[1] ? data.replace(unnamed, '"name":"nobody"') : data
      const report = yield* run({ work, stores }, { only: ["R-FWD-02"], deadline: 1_000 })
      assert.deepStrictEqual(idsWith(report, "FAIL"), ["R-FWD-02"], shown(report))
      assert.match(report.requirements[0]?.observed ?? "", /what is stored is not what was sent/)
    })
  )
})

describe.concurrent("a history that may block the receiver", () => {
  it.live("is executed alone", () =>
    Effect.gen(function* () {
      const { hooks, probe, url } = yield* model()
      const trace = `${yield* temporaryFolder}/trace.ndjson`
      const only = ["R-HTTP-09"]
      yield* runSuite({ url, probe, hooks, only, trace, level: 2, settle: 300, maxTime: 60_000, pace: 0.05 })
      const { runs } = yield* evidenceIn(trace)
      const blocking = runs.filter(({ trace: { history } }) => history.ops.some(({ k }) => k === "stalled"))
      assert.strictEqual(blocking.length, 2)
      for (const { alone, title } of blocking) assert.isTrue(alone, title)
    })
  )
})

describe.concurrent("a random history", () => {
  it.live("is confirmed, shortened and stored without ids when it fails", () =>
    Effect.gen(function* () {
      const cases = `${yield* temporaryFolder}/cases`
      // After about 220 deliveries, when the run executes histories drawn from the seed, the model recognises no
      // duplicates.
      const key = ({ id, index }: Delivery): string => (index > 220 ? `${id} ${index}` : id)
      const report = yield* run({ key }, { only: ["R-DUP-02"], cases, maxTime: 60_000 })
      assert.deepStrictEqual(idsWith(report, "FAIL"), ["R-DUP-02"])
      const [file = ""] = readdirSync(cases)
      const text = readFileSync(`${cases}/${file}`, "utf8")
      const stored = Schema.decodeUnknownSync(Schema.fromJsonString(StoredCase))(text)
      assert.strictEqual(stored.violates, "R-DUP-02")
      assert.deepStrictEqual(stored.reproduced, { tried: 5, failed: 5 })
      // The drawn history has at least three operations, so it was shortened.
      assert.isAtMost(stored.ops.length, 2, text)
      assert.notMatch(text, /evt_[0-9a-z]/)
      assert.deepStrictEqual(report.requirements[0]?.confirmed, { tried: 5, failed: 5 })
    })
  )
})
