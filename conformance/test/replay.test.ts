/**
 * `conformance replay` of stored histories: a history is taken away on the proof that it fails no more, and on nothing
 * less.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { accessLog } from "../src/history/Events.ts"
import { again, cutNew, inAnswer, newEvent, retried } from "../src/history/History.ts"
import type { Lane } from "../src/history/History.ts"
import type { Operation } from "../src/history/Operations.ts"
import { retry } from "../src/history/Variations.ts"
import { StoredCase } from "../src/run/StoredCase.ts"
import { conformance } from "./support/command.ts"
import { answer, receiver } from "./support/receiver.ts"

const encode = Schema.encodeSync(Schema.fromJsonString(StoredCase))

/** A stored history that failed so often of five times by itself; null: never was tried, or never failed so. */
const storedAs = (failed: number | null, violates: string, lane: Lane, ...ops: ReadonlyArray<Operation>) =>
  Effect.map(temporaryFolder, (folder) => {
    const file = `${folder}/${violates}.json`
    const reproduced = failed === null ? null : { tried: 5, failed }
    writeFileSync(file, encode({ v: 2, suite: "", seed: 7, violates, title: "", lane, ops, observed: "", reproduced }))
    return file
  })

/** A stored history that fails every time. */
const stored = (violates: string, lane: Lane, ...ops: ReadonlyArray<Operation>) => storedAs(5, violates, lane, ...ops)

/** A receiver with a probe at the same URL, which does with an event what it is told to. */
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
  it.live("is kept while nothing is proven, and says why", () =>
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
      assert.include(refused.output, "OPEN    not tested: the receiver acknowledged no ordinary event")
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

  it.live("that passes, and never failed by itself, stays open: what it takes to fail, others did", () =>
    Effect.gen(function* () {
      const seen = new Set<string>()
      const target = yield* probed((id, response, act) => {
        if (!seen.has(id)) act()
        seen.add(id)
        answer(response, 200)
      })
      const ops = [newEvent(accessLog), again(0, retry)]
      for (const failed of [null, 0]) {
        const file = yield* storedAs(failed, "R-DUP-02", "state", ...ops)
        const { exitCode, message, output } = yield* conformance("replay", file, ...seeing(target.url))
        assert.strictEqual(exitCode, 2, message)
        assert.match(
          output,
          /OPEN {4}it passes, but that proves nothing: .* Run the whole suite again with --seed 7\. If R-/
        )
        assert.notInclude(output, "FIXED")
        assert.match(message, /^Inconclusive: nothing shows that R-DUP-02 is fixed; R-DUP-02\.json is kept\.$/)
        assert.isTrue(existsSync(file))
      }
    })
  )

  it.live("that failed now and then is done as often as it takes to believe that it does not any more", () =>
    Effect.gen(function* () {
      let posted = 0
      const seen = new Set<string>()
      const target = yield* probed((id, response, act) => {
        posted += 1
        if (!seen.has(id)) act()
        seen.add(id)
        answer(response, 200)
      })
      const file = yield* storedAs(3, "R-DUP-02", "state", newEvent(accessLog), again(0, retry))
      const { exitCode, output } = yield* conformance("replay", file, ...seeing(target.url))
      assert.strictEqual(exitCode, 0, output)
      // Four times two requests: a failure in three of five tries is missed so one time in twenty.
      assert.isAtLeast(posted, 8)
    })
  )

  it.live("of another version of the suite is refused, with what to do", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = `${folder}/old.json`
      writeFileSync(file, JSON.stringify({ v: 1, violates: "R-DUP-02", ops: [] }))
      const { exitCode, message } = yield* conformance("replay", file, "--url", "http://127.0.0.1:9/")
      assert.strictEqual(exitCode, 3)
      assert.match(message, /another version of the suite \(v 1\)\. Run again: run --only R-DUP-02$/)
    })
  )

  it.live("is kept when it was cut short, or there was no time for it", () =>
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

  it.live("about a time is done at that time: some way into a wait as long as the receiver's own", () =>
    Effect.gen(function* () {
      const known = new Set<string>()
      // Notes the id in the middle of its work, and drops the rest when the sender goes away.
      const target = yield* probed((id, response, act) => {
        if (known.has(id)) return answer(response, 200)
        setTimeout(() => known.add(id), 20)
        setTimeout(() => {
          if (response.destroyed) return
          act()
          answer(response, 200)
        }, 120)
      })
      // One of its tries comes in time, however busy the machine is.
      const file = yield* storedAs(2, "R-LATE-01", "disturbed", cutNew(accessLog, inAnswer(0.4)), retried(0))
      const { exitCode, output } = yield* conformance("replay", file, ...seeing(target.url))
      assert.strictEqual(exitCode, 1, output)
      assert.include(output, "FAILS")
    })
  )

  it.live("has no report: one that is asked for is refused before anything is sent", () =>
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

  it.live("is not replayed with less than the run had", () =>
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
