/**
 * People without their own credential: visitors, couriers, food, trades.
 *
 * Arrivals are a Poisson process in local time. Each arrival is a visit. Visitors enter with a code, or they ring and
 * somebody opens the door, or they ring a few times in vain.
 */
import type { CallData } from "@doorhook/core"
import { Record, Schema } from "effect"
import { between, chance, dayFactor, lognormal, oneOf } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { Building, Person, UnitUse } from "../world/Building.ts"
import { fullName } from "../world/Building.ts"
import { isWeekend, seasonFactor } from "../world/CalendarDate.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import { timeOfDay } from "../world/LocalDay.ts"
import { hour } from "../world/LocalTime.ts"
import { credentialShare } from "../world/Residential.ts"
import { arrivals, dayShape } from "./DayShape.ts"
import type { FlowDay, FlowName } from "./Flow.ts"
import { ofWeekday, rngFor } from "./Flow.ts"
import type { Occurrence } from "./Occurrence.ts"
import type { OutsiderUsual } from "./OutsiderDefaults.ts"
import { outsiderDefaults } from "./OutsiderDefaults.ts"
import {
  assumed,
  Clock,
  factorsByWeekday,
  GroupShare,
  lognormalOf,
  longestWait,
  parameter,
  Rate,
  SeasonValue,
  Share,
  ShortDuration,
  wholeBetween
} from "./Parameter.ts"

export type OutsiderName = keyof typeof outsiderDefaults

const parametersOf = ({ sources, usual, what }: OutsiderUsual) =>
  Schema.Struct({
    rate: parameter(
      Rate,
      usual.rate,
      `Arrivals per day and ${sources.per}, on a day whose weekday factor is 1`,
      sources.rate
    ),
    weekdays: factorsByWeekday(usual.weekdays, "Factor for each day of the week; holidays are like Sundays"),
    day_variation: parameter(
      Share,
      usual.day_variation,
      "Coefficient of variation of the day factor (gamma with mean 1): how much days of one kind differ",
      "shape: Gamma-Poisson models of call centres (Brown, Zhao, Shen, Mandelbaum 2004); value assumed, 0.15 to 0.20"
    ),
    on_weekdays: dayShape(usual.on_weekdays, "Distribution of arrivals over a weekday, in local time", sources.times),
    on_weekends: dayShape(
      usual.on_weekends,
      "Distribution of arrivals over a weekend day or holiday, in local time",
      sources.times
    ),
    seasons: parameter(
      Schema.Array(SeasonValue).check(Schema.isMaxLength(24)),
      usual.seasons,
      "Parts of every year (including both ends) with `factor` times as many arrivals",
      sources.seasons ?? assumed
    ),
    groups: parameter(
      GroupShare,
      usual.groups,
      "Probability that another person comes along (geometric group sizes). With a code, people enter separately, one to two seconds apart",
      "batches: lobby studies (Kuusinen et al. 2009, 2011); value assumed"
    ),
    code: parameter(Share, usual.code, "Share of people who arrive with a code and don't ring"),
    qr_share: parameter(Share, usual.qr_share, "Share of codes that are QR codes; the others are PINs"),
    main_entrance: parameter(
      Share,
      usual.main_entrance,
      "Share of arrivals at the main entrance; others go to any panel"
    ),
    answered: parameter(Share, usual.answered, "Probability that a call is answered, unless the household is away"),
    answered_at: parameter(
      Schema.Array(Schema.Struct({ from: Clock, to: Clock, share: Share })).check(Schema.isMaxLength(24)),
      [],
      "Times of day (`from`, `to`) in which another `share` of calls is answered. By default none, because calls ring on phones, which people carry with them"
    ),
    answer: lognormalOf(ShortDuration, usual.answer, "Time from the ring to the answer; `median` is at most 1h"),
    // Annotations apply to the last check of a schema, so this wraps `ShortDuration` in a schema without checks.
    ring_out: parameter(
      Schema.String.pipe(Schema.decodeTo(ShortDuration)),
      usual.ring_out,
      "Ringing time until a call is given up, at most 1h"
    ),
    unlocked: parameter(Share, usual.unlocked, "Probability that an answered call ends with the door opened"),
    unlock: lognormalOf(
      ShortDuration,
      usual.unlock,
      "Time from the answer to the open door, at most 1h",
      "the pulse of a door opener is 3 to 7 s (installers' guide); the rest is assumed"
    ),
    repeated: parameter(Share, usual.repeated, "Probability of another ring within a minute after an unanswered one"),
    most_rings: parameter(wholeBetween(1, 10), usual.most_rings, "Maximum number of rings in one visit")
  }).annotate({ description: what })

/** Parameters of each flow of outsiders. */
export const OutsiderParameters = Record.map(outsiderDefaults, parametersOf)

type Parameters = typeof OutsiderParameters.visitors.Type

export interface OutsiderFlow extends Readonly<Parameters> {
  readonly _tag: "Outsiders"
  readonly name: OutsiderName & FlowName
  /** Kind of unit that these people visit. */
  readonly use: UnitUse
  readonly notification_type: CallData["notification_type"]
  /** Name on the code; null for the visitor's own name. */
  readonly code_name: string | null
  /** Number of arrivals on a day whose weekday factor is 1. */
  readonly per_day: number
}

/** Returns the number of a building's flats, dwellers or employees, by which a rate is multiplied. */
const ratedBy = ({ people, units }: Building, per: "flat" | "dweller" | "employee"): number => {
  if (per === "flat") return units.filter(({ use }) => use === "home").length
  const duty = per === "dweller" ? "resident" : "employee"
  const holders = people.filter((person) => person.duty === duty).length
  return per === "dweller" ? holders / credentialShare : holders
}

/**
 * Returns a flow of outsiders for a building. The rate of trades is per flat if there are homes, else per three
 * employees.
 */
export const outsiderFlow = (name: OutsiderName, parameters: Parameters, building: Building): OutsiderFlow => {
  const { code_name, notification_type, sources, use } = outsiderDefaults[name]
  const isOffice = name === "trades" && ratedBy(building, "flat") === 0
  const size = isOffice ? ratedBy(building, "employee") / 3 : ratedBy(building, sources.per)
  const own = { use: isOffice ? "company" : use, notification_type, code_name } as const
  return { ...parameters, ...own, _tag: "Outsiders", name, per_day: parameters.rate * size }
}

/** Returns the expected number of arrivals on a day, with its season and day factor. */
const expectedOn = (context: Omit<FlowDay<OutsiderFlow>, "nextId">): number => {
  const { day, flow, rateScale, weekday } = context
  const factor = dayFactor(rngFor(context, "day factor"), flow.day_variation)
  const usual = flow.per_day * ofWeekday(flow.weekdays, weekday) * rateScale
  return usual * seasonFactor(flow.seasons, day.number) * factor
}

const hex = (word: number): string => word.toString(16).padStart(8, "0")

/** Returns a UUID of version 4 (RFC 9562). */
export const guid = (rng: Rng): string => {
  const [a, b, c, d] = [hex(rng.uint32()), hex(rng.uint32()), hex(rng.uint32()), hex(rng.uint32())]
  const variant = "89ab"[rng.below(4)] ?? "8"
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(1, 4)}-${c.slice(4)}${d}`
}

/**
 * Maximum number of draws to find an occupied place. If every draw finds an empty place, there is no visit, so a
 * building with many empty places gets fewer visits.
 */
const mostTries = 5

/** Draws a person to visit. All people are equally likely, so larger households and companies get more visitors. */
const hostOf = (rng: Rng, places: ReadonlyArray<number>, { day, roster }: FlowDay<unknown>): Person | null => {
  for (let left = mostTries; left > 0; left--) {
    const place = oneOf(rng, places)
    const person = place === undefined ? null : roster.personOn(place, day.number)
    if (person !== null) return person
  }
  return null
}

/** Returns the probability that a call at an instant is answered. */
const answeredShare = ({ answered, answered_at }: OutsiderFlow, day: LocalDay, time: number): number => {
  if (answered_at.length === 0) return answered
  const clock = (timeOfDay(day, time - day.start) / hour) % 24
  const isIn = ({ from, to }: { readonly from: number; readonly to: number }) =>
    from <= to ? clock >= from && clock < to : clock >= from || clock < to
  return answered_at.find(isIn)?.share ?? answered
}

/** Returns the occurrences of a visit that begins at a given time, in order. */
const visit = (
  context: FlowDay<OutsiderFlow>,
  places: ReadonlyArray<number>,
  rng: Rng,
  start: number
): ReadonlyArray<Occurrence> => {
  const { building, day, flow, nextId, roster } = context
  const host = hostOf(rng, places, context)
  const panels = building.panels.filter(({ use }) => use === flow.use)
  const panel = chance(rng, flow.main_entrance) ? panels[0] : oneOf(rng, panels)
  if (host === null || panel === undefined) return []
  const { access_point } = panel
  const { unit } = host
  const common = {
    flow: flow.name,
    building_id: building.id,
    tenant_ids: unit.tenant_ids,
    label: null,
    role: "other",
    cause: null
  } as const
  const opened = { _tag: "Access", release_status: "Unlocked", access_point } as const
  const occurrences: Array<Occurrence> = []
  let time = start
  if (chance(rng, flow.code)) {
    const entry_method = chance(rng, flow.qr_share) ? "qr_code" : "pin"
    const name = flow.code_name ?? fullName(rng)
    do {
      const role = occurrences.length === 0 ? "arrival leader" : "arrival follower"
      occurrences.push({ ...common, ...opened, time, id: nextId(), role, entry_method, name })
      time += Math.floor(between(rng, 1_000, 2_200))
    } while (chance(rng, flow.groups))
    return occurrences
  }
  let first: number | null = null
  for (let ring = 1; ring <= flow.most_rings; ring++) {
    const { notification_type } = flow
    const id = nextId()
    const role = ring === 1 ? "arrival leader" : "other"
    const call = { ...common, _tag: "Call", time, id, role, cause: first, guid: guid(rng), unit, panel } as const
    first ??= id
    const { ring_out } = flow
    const answer = Math.min(lognormal(rng, flow.answer), ring_out)
    const isAnswered = chance(rng, answeredShare(flow, day, time)) && !roster.isAway(unit, day.number)
    occurrences.push({ ...call, notification_type, answered: isAnswered ? Math.floor(answer) : null, ring_out })
    if (isAnswered) {
      const unlocked = time + Math.floor(answer + Math.min(lognormal(rng, flow.unlock), longestWait))
      if (chance(rng, flow.unlocked)) {
        const name = host.name
        occurrences.push({ ...common, ...opened, time: unlocked, id: nextId(), cause: id, entry_method: "app", name })
      }
      break
    }
    if (!chance(rng, flow.repeated)) break
    time += Math.floor(flow.ring_out + between(rng, 5_000, 60_000))
  }
  return occurrences
}

/** Yields the outsiders' occurrences of one day, in order of time. */
export function* outsiderOccurrences(context: FlowDay<OutsiderFlow>): IterableIterator<Occurrence> {
  const { building, day, flow, weekday } = context
  const places = building.people.flatMap(({ unit }, place) => (unit.use === flow.use ? place : []))
  const shape = isWeekend(weekday) ? flow.on_weekends : flow.on_weekdays
  const rng = rngFor(context, "visits")
  // Occurrences of earlier visits that are still to come, latest first.
  const pending: Array<Occurrence> = []
  for (const elapsed of arrivals(day, shape, expectedOn(context), rngFor(context, "arrivals"))) {
    const time = day.start + elapsed
    for (let next = pending.at(-1); next !== undefined && next.time <= time; next = pending.at(-1)) {
      pending.pop()
      yield next
    }
    for (const occurrence of visit(context, places, rng, time)) insert(pending, occurrence)
  }
  yield* pending.toReversed()
}

/**
 * Inserts an occurrence into a short list that is sorted latest first. Among occurrences at the same time, the first
 * inserted comes last.
 */
const insert = (pending: Array<Occurrence>, occurrence: Occurrence): void => {
  let place = pending.length
  while (place > 0 && (pending[place - 1]?.time ?? 0) <= occurrence.time) place--
  pending.splice(place, 0, occurrence)
}
