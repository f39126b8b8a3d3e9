/**
 * Presets pass `simulate validate`, over weeks and with several seeds: a random sample of them in each run, all with
 * `DOORHOOK_WHOLE=1`.
 */
import { sample } from "@doorhook/testkit/Sample"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { preset, presetNames } from "@doorhook/simulator"
import { judgePlan } from "../../src/validate/Validate.ts"
import { startAt } from "../support.ts"
import { day, failedOf, linesOf, platform, run } from "./support.ts"

describe("simulate validate", () => {
  it.live.each(sample(presetNames, 4))("passes %s with several seeds, even across a clock change", (name) =>
    Effect.gen(function* () {
      const scenario = Option.getOrThrow(preset(name))
      // The first plan spans a clock change.
      for (const [seed, start] of [
        [1, "2026-03-16"],
        [2, "2026-06-01"]
      ] as const) {
        const options = { seed, start: startAt(start), duration: 28 * day }
        assert.deepStrictEqual(failedOf(yield* judgePlan(scenario, options)), [], `${seed} ${start}`)
      }
    })
  )

  const recorded = presetNames.filter((name) => name !== "demo")
  it.live.each(sample(recorded, 3))("passes two weeks of %s as a recorded log", (name) =>
    Effect.gen(function* () {
      for (const seed of [1, 2]) {
        const { failure, text } = yield* run(linesOf(name, seed, 14), "--preset", name)
        assert.isTrue(Option.isNone(failure), text)
      }
    }).pipe(Effect.provide(platform))
  )
})
