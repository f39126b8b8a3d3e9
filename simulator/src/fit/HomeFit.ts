/**
 * Estimates residents from a log.
 *
 * The days of residents leave few traces: most doors are not logged on the way out, and errands, work and evenings look
 * alike. So the fit works in rounds: it compares counts from the log with counts from a simulation of the current
 * parameters, and corrects the parameters by the difference.
 */
import { Schema } from "effect"
import type { Scenario } from "../scenario/Scenario.ts"
import { clockText, durationText, weekdays } from "../traffic/Parameter.ts"
import { ResidentParameters } from "../traffic/Residents.ts"
import { hour } from "../world/LocalTime.ts"
import { occurrences } from "../plan/Plan.ts"
import { LocalTime, dayMillis } from "../world/LocalTime.ts"
import { dayNumberAt } from "../world/LocalDay.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"
import { weekdayOf } from "../world/CalendarDate.ts"
import { byWeekday, mean, quantile, rounded, share } from "./Estimates.ts"
import type { Members } from "./Members.ts"
import { presence } from "./Members.ts"

/** Figures of the residents' traffic. A figure is null if nobody was seen. */
interface Counts {
  /** Average number of people seen per day, and average number of passages of each person. */
  readonly seen: number
  readonly passages: number | null
  /** Median times of the morning and evening passages on working days, in hours. */
  readonly morning: number | null
  readonly evening: number | null
}

interface Passage {
  readonly day: number
  readonly clock: number
  readonly person: string
}

const median = (clocks: ReadonlyArray<number>): number | null => (clocks.length === 0 ? null : quantile(clocks, 0.5))

const countsOf = (passages: ReadonlyArray<Passage>, days: number): Counts => {
  const personDays = new Set(passages.map(({ day, person }) => `${day} ${person}`)).size
  const working = passages.filter(({ day }) => weekdayOf(day) % 6 !== 0).map(({ clock }) => clock)
  return {
    seen: personDays / days,
    passages: personDays === 0 ? null : passages.length / personDays,
    morning: median(working.filter((clock) => clock >= 5 && clock < 10)),
    evening: median(working.filter((clock) => clock >= 15.5 && clock < 21))
  }
}

/**
 * Moves a time of day by 70 % of the difference between log and simulation. Keeps the time if the log or the simulation
 * has none.
 */
const towards = (from: number, log: number | null, made: number | null): number =>
  log === null || made === null ? from : from + 0.7 * (log - made)

/** Parameters of residents that the fit corrects. */
interface Moved {
  readonly active: number
  readonly errands: number
  readonly leaves: number
  readonly returns: number
}

const usual = Schema.decodeUnknownSync(ResidentParameters)({})

const parametersOf = ({ active, errands, leaves, returns }: Moved, members: Members) => {
  const week = byWeekday(presence(members))
  const whole = mean(Object.values(week))
  return {
    active: share(active),
    // In a log, residents who are away look inactive, so `active` covers them.
    trips: 0,
    errands: Object.fromEntries(
      weekdays.map((name, weekday) => [name, rounded((usual.errands[weekday] ?? 0) * errands, 2)])
    ),
    leaves: { at: clockText(leaves), spread: durationText(usual.leaves.spread * hour) },
    returns: { at: clockText(returns), spread: durationText(usual.returns.spread * hour) },
    denied: { share: share(members.denied / Math.max(1, members.attempts), 0.9) },
    other_method: members.otherMethod,
    ...(whole === 0 && { room_uses: 0 })
  }
}

const rounds = 4
const simulatedDays = 28

/** Minimum share of active residents, so that no round simulates an empty building. */
const fewestActive = 0.001

export type FittedResidents = ReturnType<typeof parametersOf>

/**
 * Finds parameters with which simulated residents are seen as often as those in the log. `scenarioOf` makes a scenario
 * from parameters.
 */
export const homeFit = (
  members: Members,
  scenarioOf: (residents: FittedResidents) => Scenario | null
): FittedResidents => {
  const log = countsOf(
    members.days.flatMap(({ entries, person }) => entries.map(({ clock, day }) => ({ day, clock, person }))),
    Math.max(1, members.calendar.length)
  )
  let moved: Moved = {
    active: usual.active,
    errands: 1,
    leaves: usual.leaves.at,
    returns: usual.returns.at
  }
  for (let round = 0; round < rounds; round++) {
    const scenario = scenarioOf(parametersOf(moved, members))
    const traffic = scenario?.buildings[0]
    if (scenario === null || traffic === undefined) break
    const zone = traffic.building.time_zone
    const start = LocalTime.make((members.calendar[0] ?? 20_000) * dayMillis)
    const passages: Array<Passage> = []
    for (const occurrence of occurrences(scenario, {
      seed: 20_000 + round,
      start,
      duration: simulatedDays * dayMillis
    })) {
      if (occurrence._tag !== "Access" || occurrence.flow !== "residents" || occurrence.label !== null) continue
      const day = dayNumberAt(occurrence.time, zone)
      const clock = (occurrence.time + offsetAt(occurrence.time, zone) - day * dayMillis) / hour
      passages.push({ day, clock, person: `${occurrence.name} ${occurrence.tenant_ids.join()}` })
    }
    const counted = countsOf(passages, simulatedDays)
    const wanted = counted.seen === 0 ? moved.active : moved.active * (log.seen / counted.seen)
    moved = {
      active: Math.min(1, Math.max(fewestActive, wanted)),
      errands:
        log.passages === null || counted.passages === null
          ? moved.errands
          : Math.min(5, Math.max(0, moved.errands * (log.passages / counted.passages) ** 2)),
      leaves: towards(moved.leaves, log.morning, counted.morning),
      returns: towards(moved.returns, log.evening, counted.evening)
    }
  }
  return parametersOf(moved, members)
}
