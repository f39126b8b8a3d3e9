/**
 * What a report says of failures that follow from others: that, where the other fails on ordinary events, and nothing where
 * it may be the consequence itself.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { accessLog } from "../../src/history/Events.ts"
import type { Operation } from "../../src/history/History.ts"
import { again, newEvent, retry } from "../../src/history/History.ts"
import type { Forgery } from "../../src/history/Invalid.ts"
import { requirements } from "../../src/requirements/index.ts"
import { find } from "../../src/requirements/Selection.ts"
import { render } from "../../src/report/Console.ts"
import { causesOf } from "../../src/report/Following.ts"
import { toHtml } from "../../src/report/html/HtmlReport.ts"
import { toMarkdown } from "../../src/report/Markdown.ts"
import type { Report, ReportedRequirement } from "../../src/report/Report.ts"
import { runSuite } from "../../src/run/RunSuite.ts"
import type { Manners } from "../support/model.ts"
import { model } from "../support/model.ts"
import { requirement, secret } from "../support/sampleReport.ts"

const run = Effect.fnUntraced(function* (
  manners: Manners,
  only: ReadonlyArray<string>,
  more: Partial<Parameters<typeof runSuite>[0]> = {}
) {
  const { hooks, probe, url } = yield* model(manners)
  const options = { level: 2, settle: 300, maxTime: 20_000, pace: 0.05, seed: 7 } as const
  return yield* runSuite({ url, probe, hooks, only, ...options, ...more })
})

const told = (report: Report): ReadonlyArray<readonly [id: string, verdict: string, causes: ReadonlyArray<string>]> =>
  report.requirements.map((one) => [one.id, one.verdict, causesOf(one, report.requirements)])

/** A requirement that failed: by which history, and in which step of it. */
type Broken = readonly [id: string, ops: ReadonlyArray<Operation>, step: number]

const broken = ([id, ops, step]: Broken): ReportedRequirement => ({
  ...requirement(id, "FAIL"),
  history: ops.map((op) => ({ did: "", op, attempts: [], moreAttempts: 0 })),
  decidedBy: { step, attempt: 0 }
})

/** What the first follows from, beside the second. */
const causeOf = (one: Broken, other: Broken): ReadonlyArray<string> =>
  causesOf(broken(one), [broken(one), broken(other)])

describe("a failure", () => {
  it.live("follows from one on ordinary events that it presupposes, and every text says so", () =>
    Effect.gen(function* () {
      const report = yield* run({ key: ({ index }) => String(index) }, ["R-ACK-01", "R-DUP-01", "R-DUP-02", "R-DUP-03"])
      assert.deepStrictEqual(told(report), [
        ["R-ACK-01", "PASS", []],
        ["R-DUP-01", "PASS", []],
        ["R-DUP-02", "FAIL", []],
        ["R-DUP-03", "FAIL", ["R-DUP-02"]]
      ])
      const words = "probably from R-DUP-02: mend that first"
      assert.strictEqual(render(report).split(`Follows    ${words}`).length, 2)
      assert.strictEqual(toMarkdown(report).split(`**Follows** ${words}`).length, 2)
      assert.strictEqual(toHtml(report).split(words).length, 2)
    })
  )

  it.live("stands by itself where what it presupposes fails for its sake alone", () =>
    Effect.gen(function* () {
      const report = yield* run({ key: ({ body }) => body }, ["R-DUP-02", "R-DUP-03"])
      assert.deepStrictEqual(told(report), [
        ["R-DUP-02", "FAIL", []],
        ["R-DUP-03", "FAIL", []]
      ])
    })
  )
})

const noMemory: Manners["key"] = ({ index }) => String(index)

describe("a failure that shows its cause", () => {
  it.live("of a GET is that of the duplicate after it, unless the GET acted", () =>
    Effect.gen(function* () {
      const only = ["R-DUP-02", "R-GET-01"]
      assert.deepStrictEqual(told(yield* run({ key: noMemory }, only)), [
        ["R-DUP-02", "FAIL", []],
        ["R-GET-01", "FAIL", ["R-DUP-02"]]
      ])
      assert.deepStrictEqual(told(yield* run({ key: noMemory, anyMethod: true }, only)), [
        ["R-DUP-02", "FAIL", []],
        ["R-GET-01", "FAIL", []]
      ])
    })
  )

  it.live("of what was never sent is that of the signature under which it came", () =>
    Effect.gen(function* () {
      const signed = { profiles: ["signed"], secret: Redacted.make(secret) } as const
      const report = yield* run({}, ["R-LOS-03", "R-SIG-02"], signed)
      assert.deepStrictEqual(told(report), [
        ["R-LOS-03", "FAIL", ["R-SIG-02"]],
        ["R-SIG-02", "FAIL", []]
      ])
    })
  )

  it("is of what is about the forgery that had an effect, and of no other", () => {
    const forged = (kind: Forgery): Operation => ({ k: "forged", event: accessLog, kind })
    const acts: Broken = ["R-LOS-03", [forged("past")], 0]
    assert.deepStrictEqual(causeOf(acts, ["R-SIG-09", [forged("no_number")], 0]), ["R-SIG-09"])
    assert.deepStrictEqual(causeOf(acts, ["R-SIG-02", [forged("random")], 0]), [])
    assert.deepStrictEqual(
      causeOf(acts, ["R-SIG-09", [forged("past"), again(0, [])], 1]),
      [],
      "the genuine one is refused"
    )
  })

  it("is of a restart or a kill where that decided, and of neither where it did not", () => {
    const restarted = [newEvent(accessLog), { k: "restart" }, { k: "again_all", how: retry }] as const
    const killed = [{ k: "kill_amid", event: accessLog, workers: 4, after: 20 }, { k: "retry_open" }] as const
    const forgets: Broken = ["R-CRA-03", restarted, 2]
    assert.deepStrictEqual(causeOf(["R-DUP-02", restarted, 2], forgets), ["R-CRA-03"])
    assert.deepStrictEqual(causeOf(["R-DUP-02", [newEvent(accessLog), again(0, retry)], 1], forgets), [])
    assert.deepStrictEqual(causeOf(["R-DUP-02", [...killed, ...restarted], 4], forgets), [])
    const loses: Broken = ["R-CRA-01", killed, 0]
    assert.deepStrictEqual(causeOf(["R-LOS-01", killed, 0], loses), ["R-CRA-01"])
    assert.deepStrictEqual(causeOf(["R-LOS-01", killed, 1], loses), [])
    assert.deepStrictEqual(causeOf(["R-LOS-01", [newEvent(accessLog)], 0], loses), [])
  })
})

describe("what a requirement presupposes", () => {
  it("exists, is seen where it is seen, and presupposes nothing in turn: no circle", () => {
    for (const { id, level, presupposes } of requirements) {
      for (const other of presupposes) {
        const presupposed = find(other)
        assert.isDefined(presupposed, `${id}: ${other}`)
        assert.isAtMost(presupposed?.level ?? 4, Math.max(level, 2), `${id}: ${other}`)
        assert.isEmpty(presupposed?.presupposes, `${id}: ${other}`)
      }
    }
  })
})
