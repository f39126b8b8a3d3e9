/**
 * Everything that happens in a scenario, as one stream in order of time.
 *
 * Each flow of each building is generated day by day and merged, so memory depends on how much goes on in a day and not
 * on how long the plan is. A plan of two days is the plan of the first followed by the plan of the second.
 */
import { Stream } from "effect"
import { child, root } from "../random/Substream.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import type { Flow } from "../traffic/Flow.ts"
import type { Happening } from "../traffic/Happening.ts"
import { happeningsOfDay } from "../traffic/Happenings.ts"
import type { Building } from "../world/Building.ts"
import { dayMaker, dayNumberAt, instantOf } from "../world/LocalDay.ts"
import type { LocalTime } from "../world/LocalTime.ts"
import { eventNumbers, placeOf } from "./EventNumber.ts"
import type { Source } from "./Merge.ts"
import { merge } from "./Merge.ts"
import type { PlannedEvent } from "./PlannedEvent.ts"
import { plannedEvent } from "./PlannedEvent.ts"

export interface PlanOptions {
  /** The same seed gives the same plan, byte for byte. */
  readonly seed: number
  /** When it begins, by the clocks of each building. */
  readonly start: LocalTime
  /** How long it is, in milliseconds; `Infinity` has no end. */
  readonly duration: number
  /** How many times as many people as the scenario says; 1 by default, at most `maxRateScale`. */
  readonly rateScale?: number
}

/** Milliseconds since the epoch; `until` is no longer part of it. */
interface Window {
  readonly from: number
  readonly until: number
}

const windowOf = (building: Building, { start, duration }: PlanOptions): Window => {
  const from = instantOf(start, building.time_zone)
  return { from, until: from + duration }
}

function* within(happenings: Iterable<Happening>, { from, until }: Window): IterableIterator<Happening> {
  for (const happening of happenings) {
    if (happening.time >= until) return
    if (happening.time >= from) yield happening
  }
}

/** One flow of one building, from a day on. */
interface FlowPlace {
  readonly building: Building
  /** The building's place in the scenario. */
  readonly place: number
  readonly flow: Flow
  readonly window: Window
}

const sourceOf = (
  { building, place, flow, window }: FlowPlace,
  options: PlanOptions,
  makeDay: ReturnType<typeof dayMaker>
) => {
  const substream = child(child(child(root(options.seed), "building"), building.id), flow.name)
  const dayFrom = (number: number): Source<Happening> | null => {
    const day = makeDay(number, building.time_zone)
    if (day.start >= window.until) return null
    const rank = placeOf(number, place, flow.name)
    return {
      from: day.start,
      rank,
      open: () =>
        within(
          happeningsOfDay({
            flow,
            building,
            day,
            substream: child(substream, number),
            rateScale: options.rateScale ?? 1,
            nextId: eventNumbers(rank)
          }),
          window
        ),
      next: () => dayFrom(number + 1)
    }
  }
  // A day's doings can go on after its midnight, but not for longer than a day (see `longestDay`).
  return dayFrom(dayNumberAt(window.from, building.time_zone) - 1)
}

/** What happens, before it is written down. */
export const happenings = (scenario: Scenario, options: PlanOptions): IterableIterator<Happening> => {
  const makeDay = dayMaker()
  const sources = scenario.buildings.flatMap(({ building, flows }, place) => {
    const window = windowOf(building, options)
    return flows.flatMap((flow) => sourceOf({ building, place, flow, window }, options, makeDay) ?? [])
  })
  return merge(sources, ({ time }) => time)
}

function* plannedEvents(scenario: Scenario, options: PlanOptions): IterableIterator<PlannedEvent> {
  for (const happening of happenings(scenario, options)) yield plannedEvent(happening)
}

/** How many events are generated at a time: as many as are published at a time. */
const chunkSize = 1_000

/** The plan of a scenario: every event in order of time. */
export const plan = (scenario: Scenario, options: PlanOptions): Stream.Stream<PlannedEvent> =>
  Stream.suspend(() => Stream.fromIteratorSucceed(plannedEvents(scenario, options), chunkSize))

/** When a plan begins: where clocks show its start first, in milliseconds since the epoch. */
export const beginningOf = (scenario: Scenario, start: LocalTime): number =>
  Math.min(...scenario.buildings.map(({ building }) => instantOf(start, building.time_zone)))
