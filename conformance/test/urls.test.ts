/**
 * A receiver with two URLs, and a probe that tells them apart.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Probe } from "../src/probes/Probe.ts"
import { runSuite } from "../src/run/RunSuite.ts"
import { acknowledge, receiver } from "./support/receiver.ts"

/** How many effects an event has at a path, by the paths it came to and how many events came before it. */
type EffectsAt = (came: ReadonlyArray<string>, path: string, before: number) => number

const judged = Effect.fnUntraced(function* (effectsAt: EffectsAt) {
  const target = yield* receiver(acknowledge)
  const other = new URL(`${target.url}/other`)
  const probe: Probe = {
    kind: "http",
    name: "effects",
    concurrency: 8,
    read: ({ endpoint, webhookId }) =>
      Effect.sync(() => {
        const ids = target.received.map(({ headers }) => headers["webhook-id"])
        const came = target.received.filter((_, index) => ids[index] === webhookId).map(({ path }) => path)
        const { pathname, search } = new URL(endpoint ?? target.url)
        const before = new Set(ids.slice(0, ids.indexOf(webhookId))).size
        return { effects: effectsAt(came, `${pathname}${search}`, before), digest: null }
      })
  }
  return yield* runSuite({
    url: new URL(target.url),
    otherUrls: [other],
    probe,
    level: 2,
    profiles: ["tenant"],
    only: ["R-DUP-08"],
    settle: 500,
    maxTime: 20_000,
    pace: 0.01,
    seed: 1
  })
})

const perUrl: EffectsAt = (came, path) => (came.includes(path) ? 1 : 0)

describe("two URLs", () => {
  it.live("have one effect each, and none of an event that did not come there", () =>
    Effect.gen(function* () {
      const right = yield* judged(perUrl)
      assert.strictEqual(right.requirements[0]?.verdict, "PASS", right.requirements[0]?.observed)
      // The probe is calibrated with three events.
      const leaks: EffectsAt = (came, path, before) => (before < 3 ? perUrl(came, path, before) : 1)
      const leaking = yield* judged(leaks)
      assert.strictEqual(leaking.requirements[0]?.verdict, "FAIL")
      assert.match(leaking.requirements[0]?.observed ?? "", /^effects = 1 at the first URL and 1 at the other for evt_/)
    })
  )
})
