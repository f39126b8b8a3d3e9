/**
 * Second effects that appear long after the first effect was read.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Probe } from "../src/probes/Probe.ts"
import { acknowledge, receiver } from "./support/receiver.ts"
import { run as runSuite } from "./support/run.ts"

/**
 * Runs the suite. With `doubles`, each duplicate has a second effect, which appears only after the suite has read all
 * events.
 */
const judged = Effect.fnUntraced(function* (doubles: boolean) {
  const target = yield* receiver(acknowledge)
  let late = false
  const probe: Probe = {
    kind: "http",
    name: "effects",
    concurrency: 8,
    read: ({ webhookId }) =>
      Effect.sync(() => {
        const times = target.received.filter(({ headers }) => headers["webhook-id"] === webhookId).length
        return { effects: late ? times : Math.min(times, 1), digest: null, data: null }
      })
  }
  const report = yield* runSuite({
    url: new URL(target.url),
    probe,
    level: 2,
    only: ["R-DUP-02", "R-LOS-01"],
    settle: 500,
    maxTime: 30_000,
    pace: 0.01,
    seed: 1,
    progress: (what) => Effect.sync(() => void (late ||= doubles && what === "late effects"))
  })
  return report.requirements.map(({ id, observed, verdict }) => `${id} ${verdict} ${observed}`)
})

it.live("late effects of duplicates are found by another reading at the end of a run", () =>
  Effect.gen(function* () {
    const [doubled, single] = yield* Effect.all([judged(true), judged(false)], { concurrency: 2 })
    assert.match(doubled[0] ?? "", /^R-DUP-02 FAIL effects = \d+ for event/)
    assert.match(doubled[1] ?? "", /^R-LOS-01 PASS /)
    for (const one of single) assert.match(one, /^R-\w+-\d+ PASS /)
  })
)
