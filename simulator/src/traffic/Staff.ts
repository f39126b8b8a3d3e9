/** People who look after an office building: cleaners at several times of day, and a guard at night. */
import { Schema } from "effect"
import { between, chance, normal, poisson } from "../random/Distribution.ts"
import type { FlowDay } from "./Flow.ts"
import { ofWeekday, rngFor } from "./Flow.ts"
import type { Access } from "./Occurrence.ts"
import { memberOccurrences, memberParameters } from "./Members.ts"
import { clockTime, parameter, Rate, Share, sharesByWeekday } from "./Parameter.ts"

export const CleanerParameters = Schema.Struct({
  attendance: sharesByWeekday(
    { sun: 0.01, mon: 0.9, tue: 0.9, wed: 0.9, thu: 0.9, fri: 0.9, sat: 0.08 },
    "Share of the cleaners who come; holidays are like Sundays"
  ),
  early: parameter(
    Share,
    0.24,
    "Share of the cleaners who come early in the morning",
    "24 % of cleaning in Europe is done early in the morning, 38 % in the afternoon or early evening (EFCI, Cleaning in Europe 2012)"
  ),
  evening: parameter(
    Share,
    0.38,
    "Share of the cleaners who come in the evening; the others come by day",
    "as for `early`"
  ),
  early_time: clockTime("05:40", "20m", "Arrival time of the cleaners who come early in the morning"),
  day_time: clockTime("11:00", "2h", "Arrival time of the cleaners who come by day"),
  evening_time: clockTime("18:10", "35m", "Arrival time of the cleaners who come in the evening"),
  floors: parameter(Rate, 3, "Number of floors that a cleaner cleans per day"),
  ...memberParameters
}).annotate({ description: "Cleaners of a building with offices" })

export const GuardParameters = Schema.Struct({
  rounds: parameter(Rate, 4, "Number of rounds per night, from 20:00 to 6:00"),
  doors: parameter(Share, 0.3, "Share of the inner doors opened on a round, in addition to one entrance"),
  ...memberParameters
}).annotate({ description: "Guards of a building with offices: one of them is on duty each night" })

export interface CleanerFlow extends Readonly<typeof CleanerParameters.Type> {
  readonly _tag: "Cleaners"
  readonly name: "cleaners"
  readonly exits_logged: boolean
}

export interface GuardFlow extends Readonly<typeof GuardParameters.Type> {
  readonly _tag: "Guards"
  readonly name: "guards"
  readonly exits_logged: boolean
}

/** Time on a floor, in hours, and the probability that its door is opened again. */
const floorTime = [0.4, 0.8] as const
const openedAgain = 0.7

/** Yields the cleaners' passages of one day. */
export const cleanerOccurrences = (context: FlowDay<CleanerFlow>): IterableIterator<Access> => {
  const { building, flow, weekday } = context
  const rng = rngFor(context, "days")
  const doors = building.units.flatMap(({ door }) => door ?? [])
  const present = ofWeekday(flow.attendance, weekday)
  return memberOccurrences(context, "cleaner", (person, add, place) => {
    if (!chance(rng, present)) return
    // A cleaner always comes at the same time of day and cleans the same floors.
    const { early, evening } = flow
    const time =
      person.shift < early ? flow.early_time : person.shift < early + evening ? flow.evening_time : flow.day_time
    let clock = normal(rng, time.at, time.spread)
    add(clock, person.entrance)
    clock += between(rng, 0.05, 0.15)
    for (let floor = 0; floor < Math.min(doors.length, poisson(rng, flow.floors)); floor++) {
      const door = doors[(place * 3 + floor) % doors.length] ?? null
      const stay = between(rng, ...floorTime)
      add(clock, door)
      if (chance(rng, openedAgain)) add(clock + stay * rng.uniform(), door)
      clock += stay + between(rng, 0.02, 0.06)
    }
    if (flow.exits_logged) add(clock, person.entrance)
  })
}

const watch = { from: 20, until: 30 } as const

/** Yields the guards' passages of the night that begins on a day. */
export const guardOccurrences = (context: FlowDay<GuardFlow>): IterableIterator<Access> => {
  const { building, day, flow } = context
  const rng = rngFor(context, "nights")
  const guards = building.people.flatMap(({ duty }, place) => (duty === "guard" ? place : []))
  const onDuty = guards[day.number % guards.length]
  const doors = building.units.flatMap(({ door }) => door ?? [])
  const entrances = building.access_points.filter(({ kind }) => kind === "entrance")
  return memberOccurrences(context, "guard", (person, add, place) => {
    if (place !== onDuty) return
    add(watch.from - between(rng, 0.05, 0.3), person.entrance)
    const rounds = poisson(rng, flow.rounds)
    for (let round = 0; round < rounds; round++) {
      let clock = watch.from + ((round + between(rng, 0.3, 0.9)) * (watch.until - watch.from - 1)) / Math.max(1, rounds)
      add(clock, entrances[rng.below(entrances.length)] ?? null)
      for (const door of doors) {
        if (!chance(rng, flow.doors)) continue
        clock += between(rng, 30, 120) / 3_600
        add(clock, door)
      }
    }
    if (flow.exits_logged) add(watch.until + between(rng, 0, 0.3), person.entrance)
  })
}
