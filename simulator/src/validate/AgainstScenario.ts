/**
 * A list of events against a scenario that it should be of: how many, and how they spread over the hours.
 */
import { Effect } from "effect"
import type { PlanOptions } from "../plan/Plan.ts"
import { inTurns } from "../plan/InTurns.ts"
import { records } from "../plan/Plan.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { zonesOf } from "../scenario/Scenario.ts"
import { weekdayOf } from "../world/CalendarDate.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"
import { instantOf } from "../world/LocalDay.ts"
import { LocalTime, dayMillis, hour, second } from "../world/LocalTime.ts"
import type { Check, Test } from "./Check.ts"
import { near, never, skipped } from "./Check.ts"
import type { EventRow } from "./EventRow.ts"
import { rowOf } from "./EventRow.ts"
import { chiSquareTail } from "./Statistics.ts"

/** How many events of a building there are, and when the first and the last were published. */
interface Heard {
  count: number
  first: number
  last: number
}

/** Counts by kind of day and hour (UTC), and who is right behind whom. */
export class Profile {
  readonly hours = new Map<string, number>()
  readonly #buildings = new Map<number, Heard>()
  #count = 0
  #behind = 0
  readonly #doors = new Map<string, number>()

  add({ at, event, logged_at }: EventRow): void {
    this.#count++
    this.#hear(event.building_id, at)
    const day = Math.floor(logged_at / dayMillis)
    const kind = weekdayOf(day) % 6 === 0 ? "weekend" : "weekday"
    const key = `${event.resource_type} ${kind} ${`${Math.floor(logged_at / hour) % 24}`.padStart(2, "0")}`
    this.hours.set(key, (this.hours.get(key) ?? 0) + 1)
    if (event.resource_type !== "access_log") return
    const door = `${event.building_id} ${event.data.access_point}`
    if (logged_at - (this.#doors.get(door) ?? -Infinity) <= 2.5 * second) this.#behind++
    this.#doors.set(door, logged_at)
  }

  #hear(building: number, at: number): void {
    const heard = this.#buildings.get(building)
    if (heard === undefined) {
      this.#buildings.set(building, { count: 1, first: at, last: at })
      return
    }
    heard.count++
    heard.first = Math.min(heard.first, at)
    heard.last = Math.max(heard.last, at)
  }

  get buildings(): ReadonlyMap<number, Readonly<Heard>> {
    return this.#buildings
  }

  get count(): number {
    return this.#count
  }

  /** Share of events within two and a half seconds behind another at the same door. */
  get behind(): number {
    return this.#count === 0 ? 0 : this.#behind / this.#count
  }
}

/** How far a profile is from what others have together. */
interface Distance {
  /** Chi-square of the counts, as if they were Poisson. */
  readonly statistic: number
  readonly cells: number
}

const distanceOf = (one: Profile, others: ReadonlyArray<Profile>): Distance => {
  let [statistic, cells, a, b] = [0, 0, 0, 0]
  const together = others.reduce((sum, { count }) => sum + count, 0)
  // There are no hours to be compared with.
  if (together === 0) return { statistic, cells }
  const scale = one.count / together
  for (const key of [...new Set([one, ...others].flatMap(({ hours }) => [...hours.keys()]))].toSorted()) {
    a += one.hours.get(key) ?? 0
    for (const { hours } of others) b += hours.get(key) ?? 0
    if (a + b / others.length < 20) continue
    // Two Poisson counts, one of them scaled.
    statistic += (a - b * scale) ** 2 / (a + b * scale * scale + 1)
    cells++
    ;[a, b] = [0, 0]
  }
  return { statistic, cells }
}

/** How much more than the references differ from each other is nothing to speak of: there are few of them. */
const leeway = 2.5

/**
 * Whether a profile is of the scenario that the references are of. Groups and day factors make counts vary more than chance
 * alone does, and how much more is the scenario's own: as much as its references differ from each other.
 */
const profileP = (one: Profile, references: ReadonlyArray<Profile>): number => {
  const { cells, statistic } = distanceOf(one, references)
  if (cells === 0) return 1
  const among = references.map((reference) => {
    const distance = distanceOf(
      reference,
      references.filter((other) => other !== reference)
    )
    return distance.cells === 0 ? 1 : distance.statistic / distance.cells
  })
  const overdispersion = Math.max(1, among.reduce((sum, ratio) => sum + ratio, 0) / among.length)
  return chiSquareTail(statistic / (leeway * overdispersion), cells)
}

/** Other days of the scenario, of the same length and beginning at the same time. */
const referencesOf = (scenario: Scenario, options: PlanOptions) =>
  Effect.forEach([1_000_001, 1_000_002, 1_000_003, 1_000_004], (seed) => {
    const profile = new Profile()
    const made = inTurns(records(scenario, { ...options, seed }), (record) => {
      profile.add(rowOf(record))
    })
    return Effect.as(made, profile)
  })

/**
 * When a plan that has these events begins, and how long it is. Whole hours, so that what is compared has the same hours in
 * it; by the clock of each building, as plans begin.
 */
const spanOf = (profile: Profile, scenario: Scenario): Pick<PlanOptions, "start" | "duration"> => {
  const zoneOf = zonesOf(scenario)
  let [earliest, longest] = [Infinity, hour]
  for (const [id, { first }] of profile.buildings) earliest = Math.min(earliest, first + offsetAt(first, zoneOf(id)))
  const start = LocalTime.make(Math.floor(earliest / hour) * hour)
  for (const [id, { last }] of profile.buildings) longest = Math.max(longest, last - instantOf(start, zoneOf(id)))
  return { start, duration: Math.ceil(longest / hour) * hour }
}

/**
 * The checks of a profile against a scenario whose plan would begin and end when the events do, with so many times as many
 * people.
 */
export const againstScenario = Effect.fnUntraced(function* (profile: Profile, scenario: Scenario, rateScale: number) {
  const options: PlanOptions = { seed: 0, ...spanOf(profile, scenario), rateScale }
  const references = yield* referencesOf(scenario, options)
  const own = new Set<number>(scenario.buildings.map(({ building }) => building.id))
  const strangers = [...profile.buildings].filter(([id]) => !own.has(id))
  const counts = references.map(({ count }) => count)
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length
  const behind = references.reduce((sum, own) => sum + own.behind, 0) / references.length
  const hoursName = "hours of the day against the scenario"
  const found: { readonly tests: ReadonlyArray<Test>; readonly checks: ReadonlyArray<Check> } = {
    tests:
      mean === 0
        ? []
        : [
            {
              name: hoursName,
              p: profileP(profile, references),
              meaning:
                "Events are spread over the hours otherwise than those of the scenario: a flat day, other people, or another time zone."
            }
          ],
    checks: [
      ...(mean === 0 ? [skipped(hoursName, "The scenario makes no events in that time.")] : []),
      never(
        "events of other buildings",
        strangers.reduce((sum, [, { count }]) => sum + count, 0),
        "They are of buildings that the scenario does not have.",
        `building ${strangers[0]?.[0]}`
      ),
      near(
        "events against the scenario",
        profile.count,
        mean,
        Math.max(0.25, 0.8 / Math.sqrt(Math.max(1, options.duration / dayMillis))) * mean + 5 * Math.sqrt(mean),
        "There are more or fewer events than the scenario makes in the same time.",
        0
      ),
      near(
        "right behind somebody else",
        profile.behind,
        behind,
        0.4 * behind + 5 * Math.sqrt((behind + 0.001) / Math.max(1, profile.count)),
        "People come alone where the scenario has groups, or in groups where it has none.",
        4
      )
    ]
  }
  return found
})
