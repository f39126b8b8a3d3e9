/**
 * The plan of a scenario: all its events as one stream in order of time.
 *
 * Each flow of each building is generated day by day and merged, so memory depends on the traffic of a day and not on
 * the length of the plan. A plan of two days is the same as the plan of the first day followed by the plan of the
 * second.
 */
import { Effect, Stream } from "effect"
import type { Substream } from "../random/Substream.ts"
import { child, root } from "../random/Substream.ts"
import type { BuildingTraffic, Scenario } from "../scenario/Scenario.ts"
import { mostBuildings } from "../scenario/Scenario.ts"
import type { FlowDay, FlowName } from "../traffic/Flow.ts"
import { flowNames } from "../traffic/Flow.ts"
import type { Flow } from "../traffic/Flows.ts"
import { occurrencesOfDay } from "../traffic/Flows.ts"
import type { Occurrence } from "../traffic/Occurrence.ts"
import type { Building } from "../world/Building.ts"
import { keptWeekday } from "../world/CalendarDate.ts"
import { dayMaker, dayNumberAt, instantOf } from "../world/LocalDay.ts"
import type { LocalTime } from "../world/LocalTime.ts"
import { dayMillis } from "../world/LocalTime.ts"
import { Roster } from "../world/Roster.ts"
import type { Source } from "./Merge.ts"
import { merge } from "./Merge.ts"
import type { PlannedEvent } from "./PlannedEvent.ts"
import { lineOf, plannedEvent } from "./PlannedEvent.ts"
import type { Recorded } from "./Controllers.ts"
import { recorded } from "./Controllers.ts"

export interface PlanOptions {
  /** The same seed gives the same plan, byte for byte. */
  readonly seed: number
  /** Start of the plan, in local time of each building. */
  readonly start: LocalTime
  /** Length in milliseconds; `Infinity` for a plan without end. */
  readonly duration: number
  /** Factor for the number of people: 1 by default, at most `maxRateScale`. */
  readonly rateScale?: number
}

/** A span of time in milliseconds since the epoch, from `from` (included) to `until` (excluded). */
export interface Window {
  readonly from: number
  readonly until: number
}

/** Returns the span of time that a plan covers in a building. */
export const windowOf = (building: Building, { start, duration }: PlanOptions): Window => {
  const from = instantOf(start, building.time_zone)
  return { from, until: from + duration }
}

// The ids in the data of events are unique in a plan and grow from day to day. They depend neither on the start of the
// plan nor on other flows. An id has 53 bits, the precision of a double. From the top: 15 bits for the day since 2000
// (until 2089), 9 for the building, 4 for the flow, and 25 for counting the events of one flow in one building on one
// day.
const daysUntil2000 = 10_957
const flowRoom = 0x10
const countRoom = 0x200_0000

/**
 * Maximum factor for the number of people. With this factor, the busiest flow of the largest preset uses a fifth of its
 * ids.
 */
export const maxRateScale = 1_000

/**
 * Length of the longest plan, in milliseconds. Ids have room for the years in which a plan can start, and for ten more.
 */
export const longestDuration = 3_650 * dayMillis

/**
 * Returns the leading bits of the ids of one flow in one building on one day. `building` is an index of the scenario's
 * buildings, `day` a number of days since 1970.
 */
export const placeOf = (day: number, building: number, flow: FlowName): number =>
  ((day - daysUntil2000) * mostBuildings + building) * flowRoom + flowNames.indexOf(flow)

/** Returns a function that returns consecutive event ids. All begin with the bits from `placeOf`. */
export const eventNumbers = (place: number): (() => number) => {
  let count = 0
  return () => place * countRoom + count++
}

/** Returns the substream from which all random numbers of a building are drawn. */
const buildingSubstream = (seed: number, building: Building): Substream =>
  child(child(root(seed), "building"), building.id)

/** One flow of one building. */
interface FlowPlace {
  readonly traffic: BuildingTraffic
  readonly roster: Roster
  /** The building's index in the scenario. */
  readonly place: number
  readonly flow: Flow
  readonly window: Window
}

export const rosterOf = ({ away, building }: BuildingTraffic, seed: number): Roster =>
  new Roster(building, away, buildingSubstream(seed, building))

/** Returns the input of a flow for one day of its building's calendar. */
export const flowDay = <F extends Flow>(
  { flow, place, roster, traffic }: Omit<FlowPlace, "flow" | "window"> & { readonly flow: F },
  day: FlowDay<F>["day"],
  { rateScale = 1, seed }: PlanOptions
): FlowDay<F> => ({
  flow,
  building: traffic.building,
  roster,
  day,
  weekday: keptWeekday(traffic.calendar, day.number),
  substream: child(child(buildingSubstream(seed, traffic.building), flow.name), day.number),
  rateScale,
  nextId: eventNumbers(placeOf(day.number, place, flow.name))
})

function* before(occurrences: Iterable<Occurrence>, until: number): IterableIterator<Occurrence> {
  for (const occurrence of occurrences) {
    if (occurrence.time >= until) return
    yield occurrence
  }
}

const sourceOf = (flowPlace: FlowPlace, options: PlanOptions, makeDay: ReturnType<typeof dayMaker>) => {
  const { flow, place, traffic, window } = flowPlace
  const { building, devices } = traffic
  const dayFrom = (number: number): Source<Occurrence> | null => {
    const day = makeDay(number, building.time_zone)
    if (day.start >= window.until) return null
    return {
      from: day.start,
      rank: placeOf(number, place, flow.name),
      open: () => before(occurrencesOfDay(flowDay(flowPlace, day, options)), window.until),
      next: () => dayFrom(number + 1)
    }
  }
  // Begins a day earlier, because a person's day can continue until the end of the next day (see `longestDay`). Begins
  // another day earlier with controllers, because they can keep events until their next restart.
  const lookBack = devices === null ? 1 : 2
  return dayFrom(dayNumberAt(window.from, building.time_zone) - lookBack)
}

/** Yields all occurrences, starting a day or two before the plan. */
const allOccurrences = (scenario: Scenario, options: PlanOptions): IterableIterator<Occurrence> => {
  const makeDay = dayMaker()
  const sources = scenario.buildings.flatMap((traffic, place) => {
    const window = windowOf(traffic.building, options)
    const roster = rosterOf(traffic, options.seed)
    return traffic.flows.flatMap((flow) => sourceOf({ traffic, roster, place, flow, window }, options, makeDay) ?? [])
  })
  return merge(sources, ({ time }) => time)
}

const windowsOf = (scenario: Scenario, options: PlanOptions): ReadonlyMap<number, Window> =>
  new Map(scenario.buildings.map(({ building }) => [building.id, windowOf(building, options)]))

/** Yields the occurrences of a plan, before controllers delay or drop them. */
export function* occurrences(scenario: Scenario, options: PlanOptions): IterableIterator<Occurrence> {
  const windows = windowsOf(scenario, options)
  for (const occurrence of allOccurrences(scenario, options)) {
    if (occurrence.time >= (windows.get(occurrence.building_id)?.from ?? 0)) yield occurrence
  }
}

/** Yields the events that the service receives, in order of publication. */
export function* records(scenario: Scenario, options: PlanOptions): IterableIterator<Recorded> {
  const windows = windowsOf(scenario, options)
  const equipped = scenario.buildings.flatMap(({ building, devices }) =>
    devices === null ? [] : [{ building, devices, substream: buildingSubstream(options.seed, building) }]
  )
  for (const record of recorded(allOccurrences(scenario, options), equipped)) {
    const window = windows.get(record.occurrence.building_id)
    if (window !== undefined && record.at >= window.from && record.at < window.until) yield record
  }
}

function* plannedEvents(scenario: Scenario, options: PlanOptions): IterableIterator<PlannedEvent> {
  for (const record of records(scenario, options)) yield plannedEvent(record)
}

/**
 * Number of events to generate at a time, small enough that most are published and released before the next garbage
 * collection.
 */
const chunkSize = 200

/** Returns the plan of a scenario: every event in order of time. */
export const plan = (scenario: Scenario, options: PlanOptions): Stream.Stream<PlannedEvent> =>
  Stream.suspend(() => Stream.fromIteratorSucceed(plannedEvents(scenario, options), chunkSize))

function* endlessEvents(scenario: Scenario, options: PlanOptions): IterableIterator<PlannedEvent> {
  // The ids of later rounds count from 1. The ids of plans are larger, because they contain the day.
  let id = 0
  for (let round = 0; ; round++) {
    let isEmpty = true
    for (const record of records(scenario, { ...options, seed: options.seed + round })) {
      isEmpty = false
      yield plannedEvent(round === 0 ? record : { ...record, occurrence: { ...record.occurrence, id: ++id } })
    }
    if (isEmpty) return
  }
}

/**
 * Returns the events of a plan, followed by those of the same scenario with the next seeds, for loads that replace the
 * times of the events. Ends only if a plan is empty.
 */
export const endlessPlan = (scenario: Scenario, options: PlanOptions): Stream.Stream<PlannedEvent> =>
  Stream.suspend(() => Stream.fromIteratorSucceed(endlessEvents(scenario, options), chunkSize))

/** Returns the time, in milliseconds since the epoch, at which the plan starts in the first building. */
export const beginningOf = (scenario: Scenario, start: LocalTime): number =>
  Math.min(...scenario.buildings.map(({ building }) => instantOf(start, building.time_zone)))

/**
 * Returns the time from the start of a plan to its end, in milliseconds. With several time zones, this is longer than
 * the duration of the plan.
 */
export const spanOf = (scenario: Scenario, options: PlanOptions): number =>
  endOf(scenario, options) - beginningOf(scenario, options.start)

/** Returns the time, in milliseconds since the epoch, at which the plan ends in the last building. */
export const endOf = (scenario: Scenario, options: PlanOptions): number =>
  Math.max(...scenario.buildings.map(({ building }) => windowOf(building, options).until))

/** A chunk of NDJSON lines, large enough to be written efficiently. */
export interface LineChunk {
  readonly bytes: Uint8Array
  /** Number of events in the chunk. */
  readonly events: number
}

/** Minimum number of characters in every chunk but the last. */
const chunkLength = 0x1_0000

/** Yields the lines of a plan, and calls `see` with each record. */
export function* lineChunks(
  scenario: Scenario,
  options: PlanOptions,
  see?: (record: Recorded) => void
): IterableIterator<LineChunk> {
  const encoder = new TextEncoder()
  let text = ""
  let events = 0
  for (const record of records(scenario, options)) {
    see?.(record)
    text += lineOf(record)
    events++
    if (text.length < chunkLength) continue
    yield { bytes: encoder.encode(text), events }
    text = ""
    events = 0
  }
  if (events > 0) yield { bytes: encoder.encode(text), events }
}

/** Number of items after which other fibers get a turn. */
const turnLength = 2_000

/**
 * Loops over items, and lets other fibers run from time to time. Otherwise Ctrl-C and the progress line would not work.
 */
export const forEachYielding = Effect.fnUntraced(function* <A>(items: Iterable<A>, use: (item: A) => void) {
  let left = turnLength
  for (const item of items) {
    use(item)
    if (--left > 0) continue
    left = turnLength
    yield* Effect.yieldNow
  }
})
