/**
 * `conformance replay` of stored histories. A history is deleted only when it is proven that it no longer fails.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { accessLog } from "../src/history/Events.ts"
import { again, cutNew, inAnswer, newEvent, retried } from "../src/history/History.ts"
import type { Lane } from "../src/history/History.ts"
import type { Operation } from "../src/history/Operations.ts"
import { retry } from "../src/history/Variations.ts"
import type { Confirmed } from "../src/record/Evidence.ts"
import { Report } from "../src/report/Report.ts"
import { StoredCase } from "../src/run/StoredCase.ts"
import { conformance, idsWith } from "./support/command.ts"
import { answer, receiver } from "./support/receiver.ts"

const readReport = (file: string): Report =>
  Schema.decodeSync(Schema.fromJsonString(Report))(readFileSync(file, "utf8"))

const encode = Schema.encodeSync(Schema.fromJsonString(StoredCase))

/**
 * Stores a history that failed `failed` times in `tried` executions alone. Null stands for a history that was never
 * executed alone, or never failed alone.
 */
const storedAs = (reproduced: Confirmed | null, violates: string, lane: Lane, ...ops: ReadonlyArray<Operation>) =>
  Effect.map(temporaryFolder, (folder) => {
    const file = `${folder}/${violates}.json`
    writeFileSync(file, encode({ v: 2, suite: "", seed: 7, violates, title: "", lane, ops, observed: "", reproduced }))
    return file
  })

/** Stores a history that failed in all five executions alone. */
const stored = (violates: string, lane: Lane, ...ops: ReadonlyArray<Operation>) =>
  storedAs({ tried: 5, failed: 5 }, violates, lane, ...ops)

/** Starts a receiver that handles events with `take` and answers probes at the same URL. */
const probed = (take: (id: string, response: ServerResponse, act: () => void) => void) => {
  const effects = new Map<string, number>()
  return receiver(({ headers, method, path }, response) => {
    const asked = new URL(path, "http://127.0.0.1").searchParams.get("id") ?? ""
    if (method === "GET") return answer(response, 200, JSON.stringify({ effects: effects.get(asked) ?? 0 }))
    const id = String(headers["webhook-id"])
    take(id, response, () => effects.set(id, (effects.get(id) ?? 0) + 1))
  })
}

const seeing = (url: string): ReadonlyArray<string> => ["--url", url, "--probe", url, "--settle", "400ms"]

describe("a stored history", () => {
  it.live("is kept while nothing is proven, with the reason", () =>
    Effect.gen(function* () {
      let refuses = true
      const seen = new Set<string>()
      const target = yield* probed((id, response, act) => {
        if (!refuses && !seen.has(id)) act()
        seen.add(id)
        answer(response, refuses ? 401 : 200)
      })
      const file = yield* stored("R-DUP-02", "state", newEvent(accessLog), again(0, retry))
      const refused = yield* conformance("replay", file, ...seeing(target.url))
      assert.strictEqual(refused.exitCode, 2, refused.output)
      assert.include(refused.output, "OPEN         not tested: the receiver acknowledged no ordinary event")
      assert.match(refused.message, /^Inconclusive: .*R-DUP-02.* is kept\.$/)
      const get = yield* stored("R-GET-01", "state", {
        k: "method_new",
        event: accessLog,
        method: "GET",
        with_body: true
      })
      assert.strictEqual((yield* conformance("replay", get, ...seeing(target.url))).exitCode, 2)
      for (const one of [file, get]) assert.isTrue(existsSync(one), one)
      refuses = false
      const fixed = yield* conformance("replay", file, ...seeing(target.url))
      assert.include(fixed.output, "FIXED", fixed.message)
      assert.isFalse(existsSync(file))
    })
  )

  it.live("stays open if it passes but never failed alone: other cases may have made it fail", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      const target = yield* probed((id, response, act) => {
        if (!seen.has(id)) act()
        seen.add(id)
        answer(response, 200)
      })
      const ops = [newEvent(accessLog), again(0, retry)]
      for (const reproduced of [null, { tried: 5, failed: 0 }]) {
        const file = yield* storedAs(reproduced, "R-DUP-02", "state", ...ops)
        const { exitCode, message, output } = yield* conformance("replay", file, ...seeing(target.url))
        assert.strictEqual(exitCode, 2, message)
        assert.match(
          output,
          /OPEN +it passes, but that proves nothing: .* Run the whole suite again with --seed 7\. If R-/
        )
        assert.notInclude(output, "FIXED")
        assert.match(message, /^Inconclusive: nothing shows that R-DUP-02 is fixed; R-DUP-02\.json is kept\.$/)
        assert.isTrue(existsSync(file))
      }
    })
  )

  it.live("is repeated often enough to prove the fix if it failed only now and then", () =>
    Effect.gen(function* () {
      let posted = 0
      const seen = new Set<string>()
      const target = yield* probed((id, response, act) => {
        posted += 1
        if (!seen.has(id)) act()
        seen.add(id)
        answer(response, 200)
      })
      const file = yield* storedAs({ tried: 5, failed: 3 }, "R-DUP-02", "state", newEvent(accessLog), again(0, retry))
      const { exitCode, output } = yield* conformance("replay", file, ...seeing(target.url))
      assert.strictEqual(exitCode, 0, output)
      // Four executions of two requests. A history that fails in three of five executions passes four times in a row
      // with a probability of about 1 in 40.
      assert.isAtLeast(posted, 8)
    })
  )

  const alwaysSoFar = [
    ["only once", { tried: 1, failed: 1 }],
    ["five times", { tried: 5, failed: 5 }]
  ] as const
  it.live.each(alwaysSoFar)(
    "is repeated if it failed whenever it was executed, %s: it may pass at times",
    ([, before]) =>
      Effect.gen(function* () {
        const doubled: Array<string> = []
        const seen = new Set<string>()
        const target = yield* probed((id, response, act) => {
          if (seen.has(id)) doubled.push(id)
          // Doubles the event of every second execution.
          if (!seen.has(id) || doubled.length % 2 === 0) act()
          seen.add(id)
          answer(response, 200)
        })
        const file = yield* storedAs(before, "R-DUP-02", "state", newEvent(accessLog), again(0, retry))
        const { exitCode, output } = yield* conformance("replay", file, ...seeing(target.url))
        assert.strictEqual(exitCode, 1, output)
        assert.include(output, "STILL FAILS")
        assert.isTrue(existsSync(file))
      })
  )

  it.live("that breaks only a SHOULD does not change the exit code", () =>
    Effect.gen(function* () {
      const target = yield* probed((_, response, act) => {
        act()
        answer(response, 200)
      })
      const ops = [newEvent(accessLog), again(0, retry)] as const
      const file = yield* storedAs({ tried: 5, failed: 5 }, "R-DUP-07", "state", ...ops)
      const { exitCode, output } = yield* conformance("replay", file, ...seeing(target.url))
      assert.strictEqual(exitCode, 0, output)
      assert.match(output, /^STILL FAILS .* \(only WARN\)$/m)
      assert.isTrue(existsSync(file))
    })
  )

  it.live("of another version of the suite is refused, with advice", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = `${folder}/old.json`
      writeFileSync(file, JSON.stringify({ v: 1, violates: "R-DUP-02", ops: [] }))
      const { exitCode, message } = yield* conformance("replay", file, "--url", "http://127.0.0.1:9/")
      assert.strictEqual(exitCode, 3)
      assert.match(message, /another version of the suite \(v 1\)\. Run again: run --only R-DUP-02$/)
    })
  )

  it.live("is kept if it was cut short or there was no time for it", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ duplicate }, response) => (duplicate ? undefined : answer(response, 200)))
      const late = again(0, retry)
      const file = yield* stored("R-HTTP-01", "state", newEvent(accessLog), late)
      const timed = yield* conformance("replay", file, "--url", target.url, "--max-time", "600ms")
      assert.strictEqual(timed.exitCode, 2, timed.output)
      assert.include(timed.output, "--max-time")
      const more = yield* stored("R-HTTP-01", "state", { k: "filler", count: 100_000 })
      const short = yield* conformance("replay", more, "--url", target.url, "--max-time", "4s")
      assert.strictEqual(short.exitCode, 2, short.output)
      assert.include(short.output, "cut short")
      assert.isTrue(existsSync(file) && existsSync(more))
    })
  )

  it.live("gives up an attempt at its share of the time that the receiver takes to answer", () =>
    Effect.gen(function* () {
      const known = new Set<string>()
      // Records the id in the middle of its work, and drops the rest of the work when the sender hangs up.
      const target = yield* probed((id, response, act) => {
        if (known.has(id)) return answer(response, 200)
        setTimeout(() => known.add(id), 60)
        setTimeout(() => {
          if (response.destroyed) return
          act()
          answer(response, 200)
        }, 400)
      })
      // Even on a busy machine, one of the executions hangs up at the right moment.
      const file = yield* storedAs(
        { tried: 5, failed: 2 },
        "R-LATE-01",
        "disturbed",
        cutNew(accessLog, inAnswer(0.4)),
        retried(0)
      )
      const { exitCode, output } = yield* conformance("replay", file, ...seeing(target.url))
      assert.strictEqual(exitCode, 1, output)
      assert.include(output, "STILL FAILS")
    })
  )

  it.live("has no report: --report is refused before anything is sent", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 200))
      const file = yield* stored("R-DUP-01", "state", newEvent(accessLog), again(0, retry))
      const { exitCode, message } = yield* conformance(
        "replay",
        file,
        "--url",
        target.url,
        "--report",
        `json=${file}.report`
      )
      assert.strictEqual(exitCode, 3, message)
      assert.match(message, /^--report: replaying a stored history .*; leave out --report, or replay R-DUP-01$/)
      assert.isEmpty(target.received)
      assert.isTrue(existsSync(file))
    })
  )

  it.live("is not replayed without the hooks that its run had", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 200))
      const file = yield* stored("R-CRA-01", "operated", newEvent(accessLog), { k: "restart" }, again(0, retry))
      const { exitCode, message } = yield* conformance("replay", file, ...seeing(target.url))
      assert.strictEqual(exitCode, 3, message)
      assert.include(message, "--restart-cmd")
      assert.isTrue(existsSync(file))
    })
  )
})

describe("a requirement with several failures", () => {
  const failedBy = Effect.fnUntraced(function* (url: string) {
    const folder = yield* temporaryFolder
    const { exitCode, output, report } = yield* conformance(
      "run",
      "--url",
      url,
      "--level",
      "1",
      "--only",
      "R-FWD-01",
      "--cases",
      folder,
      "--seed",
      "7",
      "--max-time",
      "60s"
    )
    assert.strictEqual(exitCode, 1, output)
    const [failed] = report?.requirements ?? []
    const text = readFileSync(failed?.stored ?? assert.fail(output), "utf8")
    const { reproduced } = Schema.decodeSync(Schema.fromJsonString(StoredCase))(text)
    assert.deepStrictEqual(reproduced, failed?.confirmed)
    return { text, reproduced }
  })

  it.live("is represented by a failure that recurs every time, not by one that recurs sometimes", () =>
    Effect.gen(function* () {
      let readings = 0
      const target = yield* receiver(({ body }, response) => {
        const isRefused = body.includes("firmware") || (body.includes("battery_level") && readings++ % 2 === 0)
        answer(response, isRefused ? 400 : 200)
      })
      const { reproduced, text } = yield* failedBy(target.url)
      assert.include(text, "firmware")
      assert.deepStrictEqual(reproduced, { tried: 5, failed: 5 })
    })
  )

  it.live("is represented by a failure that recurs, not by one that happened once", () =>
    Effect.gen(function* () {
      let hasRefused = false
      const waiting: Array<() => void> = []
      const target = yield* receiver(({ body }, response) => {
        if (body.includes("battery_level") && !hasRefused) {
          hasRefused = true
          answer(response, 400)
          return waiting.splice(0).forEach((refuse) => refuse())
        }
        if (!body.includes("firmware")) return answer(response, 200)
        if (hasRefused) return answer(response, 400)
        waiting.push(() => answer(response, 400))
      })
      const { reproduced, text } = yield* failedBy(target.url)
      assert.include(text, "firmware")
      assert.deepStrictEqual(reproduced, { tried: 5, failed: 5 })
    })
  )
})

describe("the failures of a run", () => {
  it.live("are replayed from their folder and from the report, until each is fixed", () =>
    Effect.gen(function* () {
      const faults = { refuses: true, doubles: true }
      const seen = new Set<string>()
      const target = yield* probed((id, response, act) => {
        const isNew = !seen.has(id)
        seen.add(id)
        if (isNew || faults.doubles) act()
        answer(response, isNew || !faults.refuses ? 200 : 409)
      })
      const folder = yield* temporaryFolder
      const json = `${folder}/report.json`
      const cases = `${folder}/cases`
      const asked = [...seeing(target.url), "--cases", cases]
      const selected = ["--only", "R-DUP-01,R-DUP-02,R-ACK-02", "--level", "2", "--max-time", "30s", "--seed", "7"]
      const failed = yield* conformance("run", ...asked, ...selected, "--report", `json=${json}`)
      assert.deepStrictEqual([...idsWith(readReport(json), "FAIL")], ["R-DUP-01", "R-DUP-02"], failed.output)
      assert.lengthOf(readdirSync(cases), 2)

      const unfixed = yield* conformance("replay", json, ...asked)
      assert.strictEqual(unfixed.exitCode, 1, unfixed.output)
      assert.lengthOf(unfixed.output.match(/^STILL FAILS /gm) ?? [], 2)

      faults.refuses = false
      const half = yield* conformance("replay", cases, ...asked)
      assert.strictEqual(half.exitCode, 1, half.output)
      assert.match(half.output, /^R-DUP-01: [^]*^FIXED [^]*^R-DUP-02: [^]*^STILL FAILS /m)
      assert.include(half.message, "R-DUP-02 still fails")
      assert.deepStrictEqual(
        readdirSync(cases).map((name) => name.slice(0, 8)),
        ["R-DUP-02"]
      )

      faults.doubles = false
      const fixed = yield* conformance("replay", json, ...asked)
      assert.strictEqual(fixed.exitCode, 0, fixed.output)
      assert.notInclude(fixed.output, "STILL FAILS")
      assert.isEmpty(readdirSync(cases))
    })
  )
})
