/**
 * Checks of scenarios with several buildings, in time zones of their own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, Stream } from "effect"
import { readScenario } from "@doorhook/simulator"
import { lineChunks } from "../../src/plan/LineChunks.ts"
import type { PlanOptions } from "../../src/plan/Plan.ts"
import type { Scenario } from "../../src/scenario/Scenario.ts"
import { fileChecks } from "../../src/validate/FileChecks.ts"
import { planChecks } from "../../src/validate/PlanChecks.ts"
import { dayMillis } from "../../src/world/LocalTime.ts"
import { startAt } from "../support.ts"

const housesIn = (zones: ReadonlyArray<string>, flows: object = {}): Scenario => {
  const buildings = zones.map((time_zone) => ({ name: time_zone, time_zone, homes: { flats: 60 }, flows }))
  return Result.getOrThrow(readScenario(JSON.stringify({ name: "houses", buildings })))
}

const week: PlanOptions = { seed: 3, start: startAt("2026-03-02T00:00"), duration: 7 * dayMillis }

const linesOf = (scenario: Scenario, options: PlanOptions) =>
  Stream.fromIterable(lineChunks(scenario, options)).pipe(
    Stream.map(({ bytes }) => bytes),
    Stream.decodeText,
    Stream.splitLines
  )

describe("the checks of buildings in several time zones", () => {
  const farApart = ["Europe/London", "Asia/Singapore", "America/Los_Angeles"]

  it.live("count the hours of the day by the clocks of each", () =>
    Effect.gen(function* () {
      const scenario = housesIn(farApart)
      const { checks: ofFile } = yield* fileChecks(linesOf(scenario, week), Option.some(scenario))
      for (const checks of [yield* planChecks(scenario, week), ofFile]) {
        const quietest = checks.find(({ name }) => name === "quietest four hours of the day")
        assert.strictEqual(quietest?.verdict, "PASS", quietest?.observed)
      }
    })
  )

  it.live.each([
    ["America/Los_Angeles", "Asia/Singapore"],
    ["Asia/Singapore", "America/Los_Angeles"]
  ])("hold a file against a plan that begins by the clock of each: %s, %s", (zones) =>
    Effect.gen(function* () {
      const scenario = housesIn(zones)
      const { checks } = yield* fileChecks(
        linesOf(scenario, { ...week, duration: 2 * dayMillis }),
        Option.some(scenario)
      )
      assert.deepStrictEqual(
        checks.filter(({ verdict }) => verdict === "FAIL"),
        []
      )
      assert.isTrue(checks.some(({ name, verdict }) => name.startsWith("hours of the day") && verdict === "PASS"))
    })
  )

  it.live("hold denied attempts against the share that all of them state", () =>
    Effect.gen(function* () {
      // The mean of three tenths is not a tenth.
      const checks = yield* planChecks(housesIn(farApart, { residents: { denied: { share: 0.1 } } }), week)
      assert.strictEqual(checks.find(({ name }) => name === "denied attempts of members")?.verdict, "PASS")
    })
  )
})
