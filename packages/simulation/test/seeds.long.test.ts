/** The delivery engine in more simulated worlds than `npm test` has time for, and in worlds that last a week. */
import { assert, describe, it } from "@effect/vitest"
import { describeFailures, judge } from "../src/checks/Checks.ts"
import type { SimulationOptions } from "../src/Simulation.ts"
import { simulate } from "../src/Actors.ts"
import { weekOf } from "../src/world/Scenario.ts"
import { sqliteFiles } from "../src/world/Storage.ts"

/** Runs seeds. Returns the failures, and the number of delivered deliveries. */
const run = (from: number, count: number, options: () => SimulationOptions, flags = "") => {
  const failures: Array<string> = []
  let delivered = 0
  for (let seed = from; seed < from + count; seed++) {
    const outcome = simulate(seed, options())
    const found = judge(outcome)
    if (found.length > 0) failures.push(describeFailures(seed, outcome, found, flags))
    delivered += outcome.deliveries.filter(({ state }) => state === "delivered").length
  }
  return { failures, delivered }
}

describe("the engine keeps every rule", () => {
  it.each([
    ["100 worlds over memory", 1_001, 100, () => ({}), ""],
    ["50 worlds over SQLite", 1_001, 50, () => ({ storage: sqliteFiles() }), " --store sqlite"],
    ["a week under its own settings", 6, 1, () => ({ draw: weekOf }), " --week"]
  ] as const)("in %s", (_, from, count, options, flags) => {
    const { delivered, failures } = run(from, count, options, flags)
    assert.deepStrictEqual(failures, [])
    assert.isAbove(delivered, 10 * count)
  })

  it("in a world that loses the answers of a recording and of the claim after it", () => {
    assert.deepStrictEqual(run(452, 1, () => ({})).failures, [])
  })
})
