/**
 * The delivery engine in more simulated worlds than `npm test` has time for, and in worlds that last a week. Each run tries
 * a random sample of the worlds, and all with `DOORHOOK_WHOLE=1`.
 */
import { sample, times } from "@doorhook/testkit/Sample"
import { assert, describe, it } from "@effect/vitest"
import { describeFailures, judge } from "../src/checks/Checks.ts"
import type { SimulationOptions } from "../src/Simulation.ts"
import { simulate } from "../src/Actors.ts"
import { weekOf } from "../src/world/Scenario.ts"
import { sqliteFiles } from "../src/world/Storage.ts"

const from1001To = (last: number): ReadonlyArray<number> => Array.from({ length: last - 1_000 }, (_, at) => 1_001 + at)

/** Runs seeds. Returns the failures, and the number of delivered deliveries. */
const run = (seeds: ReadonlyArray<number>, options: () => SimulationOptions, flags = "") => {
  const failures: Array<string> = []
  let delivered = 0
  for (const seed of seeds) {
    const outcome = simulate(seed, options())
    const found = judge(outcome)
    if (found.length > 0) failures.push(describeFailures(seed, outcome, found, flags))
    delivered += outcome.deliveries.filter(({ state }) => state === "delivered").length
  }
  return { failures, delivered }
}

describe("the engine keeps every rule", () => {
  it.each([
    ["worlds over memory", sample(from1001To(1_100), 30), () => ({}), times(0, 1_000), ""],
    [
      "worlds over SQLite",
      sample(from1001To(1_050), 12),
      () => ({ storage: sqliteFiles() }),
      times(0, 500),
      " --store sqlite"
    ],
    ["a week under its own settings", [6], () => ({ draw: weekOf }), 10, " --week"]
  ] as const)("in %s", (_, seeds, options, least, flags) => {
    const { delivered, failures } = run(seeds, options, flags)
    assert.deepStrictEqual(failures, [])
    assert.isAbove(delivered, least)
  })

  it("in a world that loses the answers of a recording and of the claim after it", () => {
    assert.deepStrictEqual(run([452], () => ({})).failures, [])
  })
})
