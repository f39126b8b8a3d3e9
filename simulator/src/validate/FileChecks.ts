/**
 * All checks of a file of events, read line by line.
 */
import { Effect, Option, Result, Stream } from "effect"
import type { Scenario } from "../scenario/Scenario.ts"
import { againstScenario, Profile } from "./AgainstScenario.ts"
import type { Check } from "./Check.ts"
import { checksOf } from "./Check.ts"
import { EventChecks } from "./EventChecks.ts"
import { readLine } from "./EventRow.ts"

/** Checks events given as lines of NDJSON; against a scenario with so many times as many people, where one is given. */
export const fileChecks = Effect.fnUntraced(function* <E, R>(
  lines: Stream.Stream<string, E, R>,
  scenario: Option.Option<Scenario>,
  rateScale = 1
) {
  const events = new EventChecks(rateScale)
  const profile = new Profile()
  let [number, first, last] = [0, Infinity, -Infinity]
  yield* Stream.runForEach(lines, (line) => {
    number++
    if (line.trim() === "") return Effect.void
    const row = readLine(line, number)
    if (Result.isFailure(row)) return Effect.fail(row.failure)
    events.add(row.success)
    profile.add(row.success)
    first = Math.min(first, row.success.at)
    last = Math.max(last, row.success.at)
    return Effect.void
  })
  const own = events.checks()
  if (Option.isNone(scenario) || events.count === 0) return { checks: own, count: events.count }
  const against = yield* againstScenario(profile, scenario.value, first, last, rateScale)
  const checks: ReadonlyArray<Check> = [...own, ...checksOf(against.tests), ...against.checks]
  return { checks, count: events.count }
})
