/**
 * What a `--receiver` names that the run does not have: an integration, or a time. Said before anything runs, because a
 * receiver that is never met looks like one that has no effect.
 */
import { DurationText } from "@doorhook/core"
import { Result } from "effect"
import type { Window } from "../plan/Plan.ts"
import { toIso } from "../plan/IsoTime.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import type { DownTime } from "../receivers/Traits.ts"
import { counted } from "../results/Words.ts"
import type { PlannedIntegration } from "../run/World.ts"
import { dayNumberAt, instantOf } from "../world/LocalDay.ts"
import { dayMillis, minute } from "../world/LocalTime.ts"
import type { LocalTime } from "../world/LocalTime.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"

/** What a run has for receivers to be met in. All times in milliseconds. */
export interface RunBounds {
  readonly integrations: ReadonlyArray<PlannedIntegration>
  readonly start: LocalTime
  readonly duration: number
  /** How long what is open at the end of the plan may go on, in its time. */
  readonly after: number
  /** Whether the clocks of receivers go with the plan; as fast as possible, they go on at their usual pace. */
  readonly keepsSchedule: boolean
}

/** So many integrations are named one by one. */
const mostNamed = 10

const namesOf = (integrations: ReadonlyArray<PlannedIntegration>): string => {
  if (integrations.length === 0) return "the run has no integrations; --building-integrations gives it some"
  const named = integrations.slice(0, mostNamed).map(({ name, place }) => `${place} = ${name}`)
  const more = integrations.length - named.length
  return `there ${integrations.length === 1 ? "is" : "are"} ${counted(integrations.length, "integration")}: ${named.join("; ")}${more === 0 ? "" : `; and ${more} more`}`
}

/** Each time that it is down within some days of the calendar; the zone is that of its clock. */
const downSpans = ({ from, on, to }: DownTime, first: number, last: number, zone: string): ReadonlyArray<Window> => {
  const span = (day: number): Window => {
    const at = (time: number) => instantOf(day * dayMillis + time * minute, zone)
    return { from: at(from), until: at(from < to ? to : to + 24 * 60) }
  }
  if (on !== null) return [span(Math.floor(Date.parse(on) / dayMillis))]
  return Array.from({ length: last - first + 1 }, (_, nth) => span(first + nth))
}

const overlap = (one: Window, other: Window): number =>
  Math.max(0, Math.min(one.until, other.until) - Math.max(one.from, other.from))

/** How much of a receiver's times a run comes to, from all of them to none. */
const meetings = ["whole", "part", "after", "never"] as const
type Meeting = (typeof meetings)[number]

const meetingOf = (spans: ReadonlyArray<Window>, plan: Window, after: number): Meeting => {
  const met = spans.reduce((sum, span) => sum + overlap(span, plan), 0)
  // A night that a day cuts in two is met as a whole.
  if (met > 0) {
    const shortest = Math.min(...spans.map(({ from, until }) => until - from))
    return met >= shortest || spans.some(({ until }) => until === Infinity) ? "whole" : "part"
  }
  const drained = { from: plan.until, until: plan.until + after }
  return spans.some((span) => overlap(span, drained) > 0) ? "after" : "never"
}

/** When the plan is, by the clocks of a zone. */
const periodText = ({ from, until }: Window, zone: string): string =>
  [from, until].map((instant) => toIso(instant + offsetAt(instant, zone)).slice(0, 16)).join(" to ")

const isAlways = ({ from, on, to }: DownTime): boolean => on === null && from === 0 && to === 24 * 60

/** What to say of the times of a rule; null when nothing is to be said. Wrong is what is never met. */
const judgeTimes = (
  { down, goneAfter }: ReceiverRule,
  zones: ReadonlyArray<string>,
  { after, duration, keepsSchedule, start }: RunBounds,
  beginning: number
): Result.Result<string | null, string> => {
  const isClocked = (down !== null && !isAlways(down)) || (goneAfter !== null && goneAfter > 0)
  const [zone] = zones
  if (!isClocked || zone === undefined) return Result.succeed(null)
  const planIn = (name: string): Window => {
    const from = instantOf(start, name)
    return { from, until: from + duration }
  }
  const spansIn = (name: string): ReadonlyArray<Window> => {
    if (goneAfter !== null) return [{ from: beginning + goneAfter, until: Infinity }]
    const { from, until } = planIn(name)
    return down === null ? [] : downSpans(down, dayNumberAt(from, name) - 1, dayNumberAt(until, name) + 1, name)
  }
  const found = zones.map((name) => meetingOf(spansIn(name), planIn(name), after))
  const period = periodText(planIn(zone), zone)
  switch (meetings.find((meeting) => found.includes(meeting))) {
    case "whole":
    case "part":
      if (
        !keepsSchedule &&
        !zones.some((name) => spansIn(name).some((span) => span.from <= beginning && beginning < span.until))
      )
        return Result.succeed(
          `met only by a run that takes so long: with --as-fast-as-possible, clocks begin at ${period.slice(0, 16)} and go on at their usual pace; --speed goes with the plan`
        )
      return Result.succeed(
        found.includes("whole") ? null : `met in part only: by its clock, the plan is from ${period}`
      )
    case "after":
      return Result.succeed(`met by retries only: by its clock, the plan is from ${period}`)
    default:
      return Result.fail(
        `the run does not come to that time: by its clock, the plan is from ${period}${after === 0 ? "" : `, and what is open then may go on for ${DurationText.format(after)}`}; expected a time within it, or another --start or --duration`
      )
  }
}

/** What is worth saying of each `--receiver`; wrong is the first that nothing in the run meets. */
export const unmetReceivers = (
  receivers: ReadonlyArray<ReceiverRule>,
  bounds: RunBounds
): Result.Result<ReadonlyArray<string>, string> => {
  const { integrations, start } = bounds
  const zonesOf = (some: ReadonlyArray<PlannedIntegration>) => [...new Set(some.map(({ zone }) => zone))]
  const beginning = Math.min(...zonesOf(integrations).map((zone) => instantOf(start, zone)))
  const notes: Array<string> = []
  for (const rule of receivers) {
    const { appliesTo, lastPlace, text } = rule
    const own = integrations.filter(({ place }) => appliesTo(place))
    if (own.length === 0) return Result.fail(`--receiver ${text}: it is no integration's; ${namesOf(integrations)}`)
    if (lastPlace !== null && lastPlace > integrations.length)
      notes.push(`--receiver ${text}: not all of these exist; ${namesOf(integrations)}`)
    const said = judgeTimes(rule, zonesOf(own), bounds, beginning)
    if (Result.isFailure(said)) return Result.fail(`--receiver ${text}: ${said.failure}`)
    if (said.success !== null) notes.push(`--receiver ${text}: ${said.success}`)
  }
  return Result.succeed(notes)
}
