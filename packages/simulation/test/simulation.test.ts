/** The delivery engine under deterministic simulation: many seeds, and proof that the checks detect faults. */
import { assert, describe, it } from "@effect/vitest"
import { checks, describeFailures, judge } from "../src/checks/Checks.ts"
import type { Entry } from "../src/History.ts"
import { hashOf } from "../src/History.ts"
import { traceOf } from "../src/checks/Trace.ts"
import type { Breakage, Outcome } from "../src/Simulation.ts"
import { simulate } from "../src/Actors.ts"
import { sabotages } from "./Sabotage.ts"
import { variants } from "./Variants.ts"

/** Number of seeds in this test; `npm run simulate:seeds` runs any number. */
const seeds = 40

/** Number of seeds within which each fault must be detected. */
const patience = 40

const from1To = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at + 1)

/** Returns what an entry proves to have occurred in its world. */
const thingsIn = (entry: Entry): ReadonlyArray<string> => {
  switch (entry.kind) {
    case "process":
    case "fault":
      return [entry.what]
    case "notification":
      return [`notification ${entry.notification.kind}`]
    case "change_received":
      return [entry.integration_id === null ? "any integration may have changed" : "change"]
    case "claimed":
      return entry.deliveries.some(({ early_due_at }) => early_due_at !== null) ? ["claimed early"] : []
    case "released":
      return [entry.why]
    case "integration":
      return entry.what === "settled" ? [`settled as ${entry.integration.status}`] : [entry.what]
    case "ok":
    case "fail":
    case "info":
      return [
        entry.kind,
        ...(/KeyReused|NotProbed|KeyInUse/.exec(entry.answer) ?? []),
        ...(/StoreError/.test(entry.answer) ? [`${entry.kind} of the store`] : [])
      ]
    default:
      return [entry.kind]
  }
}

/** What must occur in at least one world, because otherwise the checks prove nothing about it. */
const wanted: ReadonlyArray<string> = [
  ["delivered", "exhausted", "expired", "cancelled", "call_ended", "skipped"],
  ["killed", "closed", "store", "directory", "clock", "own_clock", "right", "info", "any integration may have changed"],
  // Store calls that were not carried out, and store calls with an unknown outcome.
  ["fail of the store", "info of the store"],
  ["resent", "given_back", "lapsed", "claimed early", "probed", "purged", "feed_read", "KeyReused", "NotProbed"],
  [
    "settled as disabled",
    "settled as enabled",
    "locked",
    "notification failing",
    "notification disabled",
    "notification recovered",
    "notification clock_offset"
  ]
].flat()

const failuresOf = (seed: number, outcome: Outcome): ReadonlyArray<string> => {
  const found = judge(outcome)
  return found.length === 0 ? [] : [describeFailures(seed, outcome, found)]
}

describe("the engine", () => {
  it(`keeps every rule in ${seeds} worlds with crashes, stalls, changes and wrong clocks, in which every kind of trouble occurs`, () => {
    const met = new Set<string>()
    const failures = from1To(seeds).flatMap((seed) => {
      const outcome = simulate(seed)
      for (const { reason, state } of outcome.deliveries) met.add(state).add(reason ?? "no reason")
      for (const entry of outcome.entries) for (const thing of thingsIn(entry)) met.add(thing)
      return failuresOf(seed, outcome)
    })
    assert.deepStrictEqual(failures, [])
    assert.deepStrictEqual(
      wanted.filter((thing) => !met.has(thing)),
      []
    )
  })

  it("fails the simulation if it does not start", () => {
    const unusable: Breakage = { engine: (ports) => ({ ...ports, settings: { ackTimeout: -1 } }) }
    assert.throws(() => simulate(1, { breakage: unusable }), /seed 1: engine 1 did not start.*ackTimeout/)
  })

  it("repeats a history exactly with the same seed and differs with another", () => {
    const hashes = () => from1To(3).map((seed) => hashOf(simulate(seed).entries))
    const first = hashes()
    assert.deepStrictEqual(hashes(), first)
    assert.strictEqual(new Set(first).size, first.length)
  })
})

const fails = (name: string, seed: number, breakage: Breakage): boolean => {
  const trace = traceOf(simulate(seed, { breakage }))
  return checks.some((check) => check.name === name && check.violations(trace).length > 0)
}

describe("the checks", () => {
  for (const { breakage, check, name, seed: likely } of variants) {
    it(`${check} detects ${name}`, () => {
      const seed = [likely, ...from1To(patience)].find((candidate) => fails(check, candidate, breakage))
      assert.isDefined(seed, `not detected within ${patience} seeds`)
      const { scenario, ...broken } = breakage
      if (seed === undefined || scenario === undefined || Object.keys(broken).length === 0) return
      // Without the fault, the check must pass under the same conditions.
      assert.isFalse(fails(check, seed, { scenario }))
    })
  }

  it("each detect a fault", () => {
    assert.sameMembers(
      checks.map(({ name }) => name),
      [...new Set([...variants, ...Object.values(sabotages)].map(({ check }) => check))]
    )
  })

  it("report which rule broke, where, and how to replay it", () => {
    const variant = variants.find(({ check }) => check === "tallies")
    const outcome = simulate(7, { breakage: variant?.breakage })
    const text = describeFailures(7, outcome, judge(outcome))
    assert.include(text, "seed 7 breaks tallies")
    assert.include(text, "npm run simulate:seeds -- --seed 7")
  })
})
