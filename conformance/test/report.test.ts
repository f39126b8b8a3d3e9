/**
 * What is told of a run: commands that work when they are copied, nothing secret, nothing that steers a terminal.
 */
import { UrlPolicy } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { defaultTerms } from "../src/checks/Terms.ts"
import type { Verdict } from "../src/checks/Finding.ts"
import { notableEffects } from "../src/report/Console.ts"
import { effectsOf } from "../src/report/Evidence.ts"
import { exitCodeOf } from "../src/report/ExitCode.ts"
import { factsOf } from "../src/record/Facts.ts"
import { suite } from "../src/Suite.ts"
import { makeReport } from "../src/report/MakeReport.ts"
import { rerunOf } from "../src/report/Rerun.ts"
import type { Invocation } from "../src/report/Rerun.ts"
import { requirements } from "../src/requirements/index.ts"
import { withDefaults } from "../src/record/SuiteOptions.ts"
import type { CaseRun, Ended } from "../src/executor/Judgement.ts"
import { lanes } from "../src/history/History.ts"
import type { Lane } from "../src/history/History.ts"
import { toHtml } from "../src/report/html/HtmlReport.ts"
import { timingOf } from "../src/report/Timing.ts"
import { answeredAfter } from "./support/attempt.ts"
import { sampleReport } from "./support/sampleReport.ts"

const invocation: Invocation = {
  url: new URL("http://127.0.0.1:9000/hook"),
  otherUrls: [],
  seed: 7,
  deadline: 5_000,
  settle: 10_000,
  maxTime: 120_000,
  rule: "200",
  signed: false,
  owned: false,
  level: 1,
  profiles: [],
  flags: []
}

describe("effects", () => {
  it("are told as they were read last, and the most of them where that was more", () => {
    const event = { resourceType: "call", dataId: "7", documented: true, digest: "sha256:00", bulk: false }
    const history = { v: 1, ops: [] } as const
    const effects = [
      { last: 1, most: 1, digest: null },
      { last: 0, most: 1, digest: null },
      { last: 1, most: 2, digest: null }
    ]
    const reported = effectsOf({
      case: { title: "", lane: "state", history },
      trace: {
        history,
        events: effects.map((_, index) => ({ ...event, webhookId: `evt_${index}` })),
        attempts: [],
        interventions: [],
        shortfalls: [],
        effects,
        effectsElsewhere: []
      },
      alone: true,
      attempt: null
    })
    assert.deepStrictEqual(
      reported.map(({ effects: last, most }) => [last, most]),
      [
        [1, undefined],
        [0, 1],
        [1, 2]
      ]
    )
    assert.deepStrictEqual(notableEffects({ effects: reported }), [
      "event 2 took no effect at the latest reading, once before (webhook-id evt_1)",
      "event 3 took effect once at the latest reading, 2 times before (webhook-id evt_2)",
      "the other event took effect once"
    ])
  })
})

describe("a command", () => {
  it("to run again says what differs from the defaults", () => {
    assert.strictEqual(
      rerunOf(invocation, "R-ACK-01"),
      "npx doorhook conformance replay R-ACK-01 --url http://127.0.0.1:9000/hook --seed 7"
    )
    const seen: Invocation = { ...invocation, level: 2, profiles: ["load"], flags: ["--probe", "exec:./count it"] }
    assert.strictEqual(
      rerunOf(seen, ".conformance/cases/R-DUP-02-00aa11bb.json"),
      "npx doorhook conformance replay .conformance/cases/R-DUP-02-00aa11bb.json --url http://127.0.0.1:9000/hook --seed 7 --level 2 --profile load --probe 'exec:./count it'"
    )
    const other: Invocation = { ...invocation, deadline: 400, rule: "2xx", signed: true, owned: true }
    assert.strictEqual(
      rerunOf(other, "R-ACK-01"),
      "DOORHOOK_CONFORMANCE_SECRET=whsec_... npx doorhook conformance replay R-ACK-01 --url http://127.0.0.1:9000/hook --seed 7 --deadline 400ms --ack 2xx --i-own-this-target"
    )
  })
})

describe("what is shown", () => {
  it("of a URL are not the values of its query", () => {
    assert.strictEqual(UrlPolicy.shownUrl(new URL("https://a.test/b?token=c")), "https://a.test/b?...")
  })
})

describe("an exit code", () => {
  const cases = { directed: 0, directedDone: 0, randomDone: 0 }

  const codeOf = (how: Ended["how"], ...verdicts: ReadonlyArray<Verdict>): number => codeWith(null, how, ...verdicts)

  /** With the ids of requirements that are known to fail. */
  const codeWith = (
    baseline: ReadonlyArray<string> | null,
    how: Ended["how"],
    ...verdicts: ReadonlyArray<Verdict>
  ): number => {
    const outcomes = verdicts.flatMap((verdict, index) => {
      const requirement = requirements[index]
      return requirement === undefined
        ? []
        : [
            {
              requirement,
              verdict,
              observed: "",
              evidence: null,
              confirmed: null,
              cases,
              cutShort: [],
              lacksTime: false
            }
          ]
    })
    const ended: Ended = { how, message: "" }
    const record = {
      suite,
      facts: factsOf(withDefaults({ url: invocation.url, baseline }, 7)),
      terms: defaultTerms,
      echo: 1,
      startedAt: "2026-03-02T08:00:00.000Z",
      durationMs: 1,
      calibration: null,
      ended,
      runs: [],
      refinements: [],
      strangers: []
    }
    return exitCodeOf(makeReport({ record, outcomes, files: new Map(), problem: null }))
  }

  it("follows from the verdicts", () => {
    assert.strictEqual(codeOf("complete", "PASS", "PASS"), 0)
    assert.strictEqual(codeOf("complete", "PASS", "WARN", "NOT_OBSERVABLE", "SKIPPED"), 0)
    assert.strictEqual(codeOf("complete", "PASS", "FAIL", "INCONCLUSIVE"), 1)
    assert.strictEqual(codeOf("complete", "PASS", "INCONCLUSIVE"), 2)
    assert.strictEqual(codeOf("complete", "PASS", "ERROR"), 2)
    assert.strictEqual(codeOf("complete"), 2)
    assert.strictEqual(codeOf("complete", "SKIPPED"), 2)
    assert.strictEqual(codeOf("complete", "NOT_OBSERVABLE"), 2)
  })

  it("leaves known failures aside, and not those that are known no longer", () => {
    const [first] = requirements
    const known = first === undefined ? [] : [first.id]
    assert.strictEqual(codeWith(known, "complete", "FAIL", "PASS"), 0)
    assert.strictEqual(codeWith(known, "complete", "FAIL", "FAIL"), 1)
    assert.strictEqual(codeWith(known, "complete", "PASS", "PASS"), 1)
    assert.strictEqual(codeWith(known, "complete", "INCONCLUSIVE", "PASS"), 2)
  })

  it("says that the receiver is gone before it says what was found", () => {
    assert.strictEqual(codeOf("target_unusable", "FAIL"), 4)
    assert.strictEqual(codeOf("target_unusable", "PASS"), 4)
    assert.strictEqual(codeOf("probe_unusable", "PASS"), 4)
    assert.strictEqual(codeOf("interrupted", "PASS"), 2)
    assert.strictEqual(codeOf("stayed_down", "FAIL"), 1)
    assert.strictEqual(codeOf("stayed_down", "PASS"), 2)
  })
})

/** A case that was executed in a lane, with answers that took so long. */
const answeredIn = (lane: Lane, ...times: ReadonlyArray<number>): CaseRun => ({
  case: { title: lane, lane, history: { v: 1, ops: [] } },
  alone: true,
  whole: true,
  settled: true,
  repeats: [],
  trace: {
    history: { v: 1, ops: [] },
    events: [],
    interventions: [],
    shortfalls: [],
    effects: [],
    effectsElsewhere: [],
    attempts: times.map(answeredAfter)
  }
})

describe("the times of answers", () => {
  it("are all in the histogram, also those beyond a minute", () => {
    const { attempts, histogram, maxMs } = timingOf([answeredIn("timing", 3, 4, 59_000, 61_500.5)], 5_000)
    assert.deepStrictEqual(histogram, [
      { upToMs: 5, count: 2 },
      { upToMs: 60_000, count: 1 },
      { upToMs: 61_501, count: 1 }
    ])
    assert.strictEqual(attempts, 4)
    assert.strictEqual(maxMs, 61_500.5)
  })

  it("are parted by the deadline, wherever it is: in time and late are never counted together", () => {
    const timing = timingOf([answeredIn("timing", 4_200, 4_500, 4_501, 70_000)], 4_500)
    assert.deepStrictEqual(timing.histogram, [
      { upToMs: 4_500, count: 2 },
      { upToMs: 5_000, count: 1 },
      { upToMs: 70_000, count: 1 }
    ])
    const late = toHtml({ ...sampleReport, deadlineMs: 4_500, timing }).match(/<tr class="late">\s*<td>[^<]*/g) ?? []
    assert.deepStrictEqual(
      late.map((row) => row.replace(/^.*>/s, "")),
      ["≤ 5 s", "≤ 70 s"]
    )
    assert.deepStrictEqual(timingOf([answeredIn("timing", 80_000)], 90_000).histogram, [{ upToMs: 90_000, count: 1 }])
  })

  it("are those of the timing lane: in others, more was going on", () => {
    const others = lanes.filter((lane) => lane !== "timing").map((lane) => answeredIn(lane, 900))
    assert.deepStrictEqual(timingOf([answeredIn("timing", 3), ...others], 5_000).histogram, [{ upToMs: 5, count: 1 }])
  })
})
