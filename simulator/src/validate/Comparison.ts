/**
 * Compares a recorded log with a scenario: number of events, distribution over the hours, and share of people who come
 * right behind another person. The reference is four plans of the scenario for the same period.
 */
import { Effect } from "effect"
import { forEachRecord } from "../plan/Plan.ts"
import type { PlanOptions } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { zonesOf } from "../scenario/Scenario.ts"
import { isWeekend, weekdayOf } from "../world/CalendarDate.ts"
import { instantOf } from "../world/LocalDay.ts"
import { dayMillis, hour, LocalTime } from "../world/LocalTime.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"
import type { Check } from "./Realism.ts"
import { never, skipped } from "./Realism.ts"
import { closeBehind } from "./Observations.ts"
import type { Row } from "./Observations.ts"
import { ofRecord } from "./Observations.ts"

/** Counts of events by kind of event, kind of day and hour (UTC), and counts by building. */
export class Profile {
  readonly hours = new Map<string, number>()
  readonly buildings = new Map<number | string, { count: number; first: number; last: number }>()
  count = 0
  #behind = 0
  readonly #doors = new Map<string, number>()

  add({ at, building, door, isCall, logged_at }: Row): void {
    this.count++
    const own = this.buildings.get(building) ?? { count: 0, first: at, last: at }
    this.buildings.set(building, {
      count: own.count + 1,
      first: Math.min(own.first, at),
      last: Math.max(own.last, at)
    })
    const kind = isWeekend(weekdayOf(Math.floor(logged_at / dayMillis))) ? "weekend" : "weekday"
    const key = `${isCall ? "call" : "access"} ${kind} ${Math.floor(logged_at / hour) % 24}`
    this.hours.set(key, (this.hours.get(key) ?? 0) + 1)
    if (isCall) return
    const place = `${building} ${door}`
    if (logged_at - (this.#doors.get(place) ?? -Infinity) <= closeBehind) this.#behind++
    this.#doors.set(place, logged_at)
  }

  /** Share of events that come right after another one at the same door. */
  get behind(): number {
    return this.#behind / Math.max(1, this.count)
  }
}

/**
 * Returns the share of events that would have to move to make one profile equal to the sum of the others (total
 * variation distance).
 */
const distanceOf = (one: Profile, others: ReadonlyArray<Profile>): number => {
  const together = others.reduce((sum, { count }) => sum + count, 0)
  const keys = new Set([one, ...others].flatMap(({ hours }) => [...hours.keys()]))
  const shareOf = (key: string) => others.reduce((sum, { hours }) => sum + (hours.get(key) ?? 0), 0) / together
  return [...keys].reduce((sum, key) => sum + Math.abs((one.hours.get(key) ?? 0) / one.count - shareOf(key)), 0) / 2
}

/**
 * Returns the start and duration of a plan that covers the period of the log. Both are in whole hours of local time, so
 * that the same hours are compared.
 */
const spanOf = (profile: Profile, scenario: Scenario): Pick<PlanOptions, "start" | "duration"> => {
  const zoneOf = zonesOf(scenario)
  let [earliest, longest] = [Infinity, hour]
  for (const [id, { first }] of profile.buildings) earliest = Math.min(earliest, first + offsetAt(first, zoneOf(id)))
  const start = LocalTime.make(Math.floor(earliest / hour) * hour)
  for (const [id, { last }] of profile.buildings) longest = Math.max(longest, last - instantOf(start, zoneOf(id)))
  return { start, duration: Math.ceil(longest / hour) * hour }
}

const near = (name: string, observed: number, expected: number, tolerance: number, digits: number, meaning: string) =>
  ({
    name,
    verdict: Math.abs(observed - expected) <= tolerance ? "PASS" : "FAIL",
    observed: observed.toFixed(digits),
    expected: `${expected.toFixed(digits)} +- ${tolerance.toFixed(digits)}`,
    meaning
  }) as const

/** Checks a profile against a scenario with `rateScale` times as many people. */
export const compareWithScenario = Effect.fnUntraced(function* (
  profile: Profile,
  scenario: Scenario,
  rateScale: number
) {
  const options = { ...spanOf(profile, scenario), rateScale }
  const references = yield* Effect.forEach([1_000_001, 1_000_002, 1_000_003, 1_000_004], (seed) => {
    const reference = new Profile()
    const made = forEachRecord(scenario, { ...options, seed }, (record) => {
      const row = ofRecord(record)
      if (row !== null) reference.add(row)
    })
    return Effect.as(made, reference)
  })
  const own = new Set<number | string>(scenario.sites.map(({ id }) => id))
  const strangers = [...profile.buildings].filter(([id]) => !own.has(id))
  const mean = references.reduce((sum, { count }) => sum + count, 0) / references.length
  const behind = references.reduce((sum, { behind }) => sum + behind, 0) / references.length
  const hours = "hours of the day against the scenario"
  // The references differ by chance, by groups and by day factors. The tolerance is a little more than these
  // differences.
  const among = references.map((one) =>
    distanceOf(
      one,
      references.filter((other) => other !== one)
    )
  )
  const most = 0.03 + 2 * Math.max(...among)
  const checks: ReadonlyArray<Check> = [
    never(
      "events of other buildings",
      strangers.reduce((sum, [, { count }]) => sum + count, 0),
      "The scenario does not have these buildings.",
      `building ${strangers[0]?.[0]}`
    ),
    near(
      "events against the scenario",
      profile.count,
      mean,
      Math.max(0.25, 0.8 / Math.sqrt(Math.max(1, options.duration / dayMillis))) * mean + 5 * Math.sqrt(mean),
      0,
      "There are more or fewer events than the scenario generates in the same time."
    ),
    near(
      "right behind another",
      profile.behind,
      behind,
      0.4 * behind + 5 * Math.sqrt((behind + 0.001) / Math.max(1, profile.count)),
      4,
      "People come alone where the scenario has groups, or in groups where it has none."
    ),
    mean === 0
      ? skipped(hours, "The scenario generates no events in that time.")
      : near(
          hours,
          distanceOf(profile, references),
          0,
          most,
          3,
          "Events are spread over the hours differently than in the scenario. Possible causes: a flat day, other people, or another time zone."
        )
  ]
  return checks
})
