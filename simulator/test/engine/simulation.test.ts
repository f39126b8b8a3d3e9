/**
 * The delivery engine under deterministic simulation: many seeds, and proof that the checks would notice.
 */
import { assert, describe, it } from "@effect/vitest"
import { checks, judge } from "../../src/engine/checks/All.ts"
import { hashOf } from "../../src/engine/History.ts"
import { describeFailures } from "../../src/engine/Report.ts"
import { simulate } from "../../src/engine/Simulation.ts"
import { variants } from "./Variants.ts"

/** How many seeds are run as a test; `npm run simulate:seeds` runs as many as you like. */
const seeds = 400

/** Within how many seeds each fault must be noticed. */
const patience = 40

const from1To = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at + 1)

describe("the engine", () => {
  it(`keeps every rule in ${seeds} worlds that crash, stall and change`, () => {
    const failures = from1To(seeds).flatMap((seed) => {
      const outcome = simulate(seed)
      const found = judge(outcome)
      return found.length === 0 ? [] : [describeFailures(seed, outcome, found)]
    })
    assert.deepStrictEqual(failures, [])
  })

  it("does exactly the same again with the same seed, and something else with another", () => {
    const hashes = from1To(10).map((seed) => hashOf(simulate(seed).entries))
    assert.deepStrictEqual(
      from1To(10).map((seed) => hashOf(simulate(seed).entries)),
      hashes
    )
    assert.strictEqual(new Set(hashes).size, hashes.length)
  })

  it("meets in these worlds what it is meant to survive", () => {
    const met = new Set(
      from1To(60).flatMap((seed) => {
        const { deliveries, entries } = simulate(seed)
        return [
          ...deliveries.map(({ state }) => state),
          ...entries.map((entry) =>
            entry.kind === "process" ? entry.what : entry.kind === "fault" ? entry.what : entry.kind
          )
        ]
      })
    )
    for (const thing of ["delivered", "exhausted", "expired", "cancelled", "skipped"]) assert.include([...met], thing)
    for (const thing of ["killed", "closed", "store", "directory", "clock", "right", "resent", "info", "released"]) {
      assert.include([...met], thing)
    }
  })
})

describe("the checks", () => {
  for (const { breakage, check, name } of variants) {
    it(`${check} notices ${name}`, () => {
      const seed = from1To(patience).find((candidate) =>
        judge(simulate(candidate, breakage)).some((failure) => failure.check.name === check)
      )
      assert.isDefined(seed)
    })
  }

  it("are each proved by a fault", () => {
    assert.sameMembers(
      checks.map(({ name }) => name),
      [...new Set(variants.map(({ check }) => check))]
    )
  })

  it("tell which rule broke, where, and how to see it again", () => {
    const variant = variants.find(({ check }) => check === "tallies")
    const outcome = simulate(7, variant?.breakage)
    const text = describeFailures(7, outcome, judge(outcome))
    assert.include(text, "seed 7 breaks tallies")
    assert.include(text, "npm run simulate:seeds -- --seed 7")
  })
})
