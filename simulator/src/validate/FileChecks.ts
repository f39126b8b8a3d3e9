/**
 * All checks of a file of events, read line by line.
 */
import { DurationText } from "@doorhook/core"
import { Effect, Option, Result, Stream } from "effect"
import { longestDuration } from "../plan/EventNumber.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { zonesOf } from "../scenario/Scenario.ts"
import { againstScenario, Profile } from "./AgainstScenario.ts"
import type { Check } from "./Check.ts"
import { checksOf } from "./Check.ts"
import { EventChecks } from "./EventChecks.ts"
import { InvalidLine, readLine } from "./EventRow.ts"

/** Checks events given as lines of NDJSON; against a scenario with so many times as many people, where one is given. */
export const fileChecks = Effect.fnUntraced(function* <E, R>(
  lines: Stream.Stream<string, E, R>,
  scenario: Option.Option<Scenario>,
  rateScale = 1
) {
  const events = new EventChecks(rateScale, Option.getOrUndefined(Option.map(scenario, zonesOf)))
  const profile = new Profile()
  let number = 0
  let first = { at: Infinity, line: 0 }
  let last = { at: -Infinity, line: 0 }
  yield* Stream.runForEach(lines, (line) => {
    number++
    if (line.trim() === "") return Effect.void
    const row = readLine(line, number)
    if (Result.isFailure(row)) return Effect.fail(row.failure)
    events.add(row.success)
    profile.add(row.success)
    const { at } = row.success
    if (at < first.at) first = { at, line: number }
    if (at > last.at) last = { at, line: number }
    return Effect.void
  })
  const own = events.checks()
  if (Option.isNone(scenario) || events.count === 0) return { checks: own, count: events.count }
  if (last.at - first.at > longestDuration)
    return yield* new InvalidLine({
      line: last.line,
      detail: `/at must be within ${DurationText.format(longestDuration)} of that of line ${first.line}, to be compared with a scenario: put right the one that is wrong, or leave out --preset and --scenario`
    })
  const against = yield* againstScenario(profile, scenario.value, rateScale)
  const checks: ReadonlyArray<Check> = [...own, ...checksOf(against.tests), ...against.checks]
  return { checks, count: events.count }
})
