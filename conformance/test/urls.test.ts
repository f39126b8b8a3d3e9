/**
 * A receiver with two URLs, and a probe that distinguishes them.
 */
import { UrlPolicy } from "@doorhook/core"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Probe } from "../src/probes/Probe.ts"
import { acknowledge, receiver } from "./support/receiver.ts"
import { run as runSuite } from "./support/run.ts"
import { saidAgain } from "./support/stored.ts"

/**
 * Returns the number of effects of an event at a path. `came` has the paths that the event was sent to, `before` the
 * number of earlier events.
 */
type EffectsAt = (came: ReadonlyArray<string>, path: string, before: number) => number

/**
 * Runs the suite. Returns the report, and the URLs as reports show them. Fails unless the stored evidence gives the
 * same report.
 */
const judged = Effect.fnUntraced(function* (effectsAt: EffectsAt, first = "", second = "/other") {
  const target = yield* receiver(acknowledge)
  const [url, other] = [new URL(`${target.url}${first}`), new URL(`${target.url}${second}`)]
  const probe: Probe = {
    kind: "http",
    name: "effects",
    concurrency: 8,
    read: ({ endpoint, webhookId }) =>
      Effect.sync(() => {
        const ids = target.received.map(({ headers }) => headers["webhook-id"])
        const came = target.received.filter((_, index) => ids[index] === webhookId).map(({ path }) => path)
        const { pathname, search } = new URL(endpoint ?? url)
        const before = new Set(ids.slice(0, ids.indexOf(webhookId))).size
        return { effects: effectsAt(came, `${pathname}${search}`, before), digest: null, data: null }
      })
  }
  const trace = `${yield* temporaryFolder}/trace.ndjson`
  const report = yield* runSuite({
    url,
    trace,
    otherUrls: [other],
    probe,
    level: 2,
    profile: ["tenant"],
    only: ["R-DUP-08"],
    settle: 500,
    maxTime: 30_000,
    pace: 0.01,
    seed: 1
  })
  assert.deepStrictEqual(yield* saidAgain(trace), report)
  return {
    report,
    requirement: report.requirements[0] ?? assert.fail("nothing was judged"),
    shown: [url, other].map(UrlPolicy.shownUrl)
  }
})

const perUrl: EffectsAt = (came, path) => (came.includes(path) ? 1 : 0)

describe.concurrent("two URLs", () => {
  it.live("have one effect each, and none for an event that was not sent there", () =>
    Effect.gen(function* () {
      const right = yield* judged(perUrl)
      assert.strictEqual(right.requirement.verdict, "PASS", right.requirement.observed)
      // The probe must be right about the third to the fifth event, because they calibrate it.
      const leaking = yield* judged((came, path, before) =>
        came.length === 0 || (before >= 2 && before < 5) ? perUrl(came, path, before) : 1
      )
      assert.strictEqual(leaking.requirement.verdict, "FAIL", leaking.requirement.observed)
      assert.match(leaking.requirement.observed, /^effects = 1 at the first URL and 1 at the other for evt_/)
    })
  )

  it.live("are each named for the requests to them, without their queries", () =>
    Effect.gen(function* () {
      for (const [first, second] of [
        ["", "/other"],
        ["?token=hush1", "/other?token=hush2"],
        ["?token=hush1", "?token=hush2"]
      ]) {
        const { report, requirement, shown } = yield* judged((came, path) => (came[0] === path ? 1 : 0), first, second)
        assert.strictEqual(requirement.verdict, "FAIL", requirement.observed)
        const named = requirement.history.flatMap(({ attempts }) => attempts.map(({ request }) => request.url))
        assert.deepStrictEqual(named, shown)
        assert.match(requirement.curl ?? "", /^for url in \S+ \S+; do curl /)
        for (const one of shown) assert.include(requirement.curl, one)
        assert.notInclude(JSON.stringify(report), "hush")
      }
    })
  )
})
