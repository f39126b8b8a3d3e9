/**
 * The plan of a scenario: all its events as one stream in order of time.
 *
 * A plan is made in slices of time. A slice has the events of every building in that time, sorted. It needs nothing from
 * the slices before it, so the plan of two days is the plan of the first day followed by the plan of the second. A plan
 * with few people keeps its buildings from slice to slice, because that is faster. A larger plan makes one building at a
 * time and forgets it, so memory depends only on the events of a slice.
 */
import { Effect, Stream } from "effect"
import type { Substream } from "../random/Substream.ts"
import { child, root } from "../random/Substream.ts"
import type { BuildingTraffic, Scenario, Site } from "../scenario/Scenario.ts"
import type { FlowDay, FlowName } from "../traffic/Flow.ts"
import { flowNames } from "../traffic/Flow.ts"
import type { Flow } from "../traffic/Flows.ts"
import { occurrencesOfDay } from "../traffic/Flows.ts"
import type { Occurrence } from "../traffic/Occurrence.ts"
import type { Building } from "../world/Building.ts"
import { keptWeekday } from "../world/CalendarDate.ts"
import { dayMaker, dayNumberAt, instantOf } from "../world/LocalDay.ts"
import type { LocalTime } from "../world/LocalTime.ts"
import { dayMillis, hour, minute } from "../world/LocalTime.ts"
import { Roster } from "../world/Roster.ts"
import type { Recorded } from "./Devices.ts"
import { Devices, withCallEnds } from "./Devices.ts"
import type { Source } from "./Merge.ts"
import { merge } from "./Merge.ts"
import type { PlannedEvent } from "./PlannedEvent.ts"
import { lineOf, plannedEvent } from "./PlannedEvent.ts"

export interface PlanOptions {
  /** The same seed gives the same plan, byte for byte. */
  readonly seed: number
  /** Start of the plan, in local time of each building. */
  readonly start: LocalTime
  /** Length in milliseconds; `Infinity` for a plan without end. */
  readonly duration: number
  /** Factor for the number of people: 1 by default, at most `maxRateScale`. */
  readonly rateScale?: number
  /** Whether the plan has the ends of calls (`call_end`). Default: false. */
  readonly hasCallEnds?: boolean
}

/** A span of time in milliseconds since the epoch, from `from` (included) to `until` (excluded). */
export interface Window {
  readonly from: number
  readonly until: number
}

/** Returns the span of time that a plan covers in a time zone. */
const windowOf = (zone: string, { start, duration }: PlanOptions): Window => {
  const from = instantOf(start, zone)
  return { from, until: from + duration }
}

// The ids in the data of events are unique in a plan and grow from day to day. They depend neither on the start of the
// plan nor on other flows. An id has 53 bits, the precision of a double. From the top: 15 bits for the day since 2000
// (until 2089), 9 to 17 for the building, 4 for the flow, and the rest for counting the events of one flow in one
// building on one day. Three quarters of these numbers are for events that devices add.
const daysUntil2000 = 10_957
const flowRoom = 0x10
const usualBuildings = 0x200
const buildingsTimesNumbers = 2 ** 34

/** How many buildings ids have room for, and how many numbers for the events of one flow in a building on a day. */
export interface IdRoom {
  readonly buildings: number
  readonly numbers: number
}

export const idRoomOf = (buildings: number): IdRoom => {
  let room = usualBuildings
  while (room < buildings) room *= 2
  return { buildings: room, numbers: buildingsTimesNumbers / room }
}

/** Maximum factor for the number of people. */
export const maxRateScale = 1_000

/** Number of events per person and day, in one flow, that ids have room for. */
const eventsPerPerson = 8

/** Returns how many people a building can have, after scaling, in a plan with this many buildings. */
export const mostPeople = (buildings: number): number => idRoomOf(buildings).numbers / 4 / eventsPerPerson

/**
 * Length of the longest plan, in milliseconds. Ids have room for the years in which a plan can start, and for ten more.
 */
export const longestDuration = 3_650 * dayMillis

/**
 * Returns the leading bits of the ids of one flow in one building on one day. `building` is an index of the scenario's
 * buildings, `day` a number of days since 1970.
 */
const placeOf = (day: number, building: number, flow: FlowName, room: IdRoom): number =>
  ((day - daysUntil2000) * room.buildings + building) * flowRoom + flowNames.indexOf(flow)

/** Returns a function that returns consecutive event ids. All begin with the bits from `placeOf`. */
export const eventNumbers = (place: number, { numbers }: IdRoom = idRoomOf(1)): (() => number) => {
  let count = 0
  return () => {
    if (count >= numbers / 4)
      throw new RangeError("One flow of a building has more events on a day than ids have room for")
    return place * numbers + count++
  }
}

/** Returns the substream from which all random numbers of a building are drawn. */
const buildingSubstream = (seed: number, building: Building): Substream =>
  child(child(root(seed), "building"), building.id)

export const rosterOf = ({ away, building }: BuildingTraffic, seed: number): Roster =>
  new Roster(building, away, buildingSubstream(seed, building))

type DayMaker = ReturnType<typeof dayMaker>

/** How long a call rings at most, in milliseconds (`ring_out`). */
const longestRing = hour

function* within(occurrences: Iterable<Occurrence>, { from, until }: Window): IterableIterator<Occurrence> {
  for (const occurrence of occurrences) {
    if (occurrence.time >= until) return
    if (occurrence.time >= from) yield occurrence
  }
}

/** One building of a plan. */
class BuildingPlan {
  readonly #traffic: BuildingTraffic
  readonly #roster: Roster
  readonly #substream: Substream
  readonly #region: Substream
  readonly #weather: Substream
  readonly #options: PlanOptions
  readonly #makeDay: DayMaker
  /** The building's index in the scenario. */
  readonly #place: number
  readonly #room: IdRoom

  constructor(traffic: BuildingTraffic, place: number, room: IdRoom, options: PlanOptions, makeDay: DayMaker) {
    const { building, devices } = traffic
    const plan = root(options.seed)
    this.#traffic = traffic
    this.#roster = rosterOf(traffic, options.seed)
    this.#substream = buildingSubstream(options.seed, building)
    this.#region = child(
      child(plan, "region"),
      devices === null || devices.region === "" ? building.time_zone : devices.region
    )
    this.#weather = child(child(plan, "weather"), building.time_zone)
    this.#options = options
    this.#makeDay = makeDay
    this.#place = place
    this.#room = room
  }

  /** Yields the events of the building that are published within a span of time, in order. */
  *records({ from, until }: Window): IterableIterator<Recorded> {
    if (this.#options.hasCallEnds !== true) return yield* this.#records({ from, until })
    const records = this.#records({ from: from - longestRing, until })
    for (const record of withCallEnds(records, this.#substream, this.#room.numbers / 4)) {
      if (record.at >= until) return
      if (record.at >= from) yield record
    }
  }

  *#records({ from, until }: Window): IterableIterator<Recorded<Occurrence>> {
    const { building, devices } = this.#traffic
    if (devices === null) {
      for (const occurrence of this.#occurrences({ from, until }))
        yield { occurrence, at: occurrence.time, logged_at: occurrence.time }
      return
    }
    const recorder = new Devices(building, devices, this.#substream, this.#region, this.#room.numbers / 4)
    for (const record of recorder.records(this.#occurrences({ from: recorder.neededFrom(from), until }))) {
      if (record.at >= until) return
      if (record.at >= from) yield record
    }
  }

  /** Yields what happens within a span of time. */
  #occurrences(window: Window): IterableIterator<Occurrence> {
    // Begins a day earlier, because a person's day can continue until the end of the next day (see `longestDay`).
    const first = dayNumberAt(window.from, this.#traffic.building.time_zone) - 1
    const sources = this.#traffic.flows.flatMap((flow) => this.#source(flow, first, window) ?? [])
    return merge(sources, ({ time }) => time)
  }

  #source(flow: Flow, number: number, window: Window): Source<Occurrence> | null {
    const day = this.#makeDay(number, this.#traffic.building.time_zone)
    if (day.start >= window.until) return null
    return {
      from: day.start,
      rank: placeOf(number, this.#place, flow.name, this.#room),
      open: () => within(occurrencesOfDay(this.#flowDay(flow, day)), window),
      next: () => this.#source(flow, number + 1, window)
    }
  }

  /** Returns the input of a flow for one day of its building's calendar. */
  #flowDay(flow: Flow, day: FlowDay<Flow>["day"]): FlowDay<Flow> {
    const { building, calendar } = this.#traffic
    return {
      flow,
      building,
      roster: this.#roster,
      day,
      weekday: keptWeekday(calendar, day.number),
      substream: child(child(this.#substream, flow.name), day.number),
      weather: child(this.#weather, day.number),
      rateScale: this.#options.rateScale ?? 1,
      nextId: eventNumbers(placeOf(day.number, this.#place, flow.name, this.#room), this.#room)
    }
  }
}

/** The records of a kept building, read slice by slice. */
class Cursor {
  readonly #records: Iterator<Recorded>
  #next: Recorded | undefined

  constructor(records: Iterator<Recorded>) {
    this.#records = records
    this.#advance()
  }

  #advance(): void {
    const step = this.#records.next()
    this.#next = step.done === true ? undefined : step.value
  }

  readUntil(until: number, into: Array<Recorded>): void {
    for (; this.#next !== undefined && this.#next.at < until; this.#advance()) into.push(this.#next)
  }
}

/** Default maximum number of people in a plan that keeps its buildings. */
const mostKept = 200_000

/** First length and limits of the length of a slice, and the wanted number of events in a slice. */
const firstSlice = 10 * minute
const shortestSlice = minute
const wantedEvents = { kept: 200, forgotten: 200_000 } as const

/** Number of buildings after which other fibers get a turn. */
const buildingsAtOnce = 16

const inOrder = (a: Recorded, b: Recorded): number => a.at - b.at || a.occurrence.id - b.occurrence.id

/**
 * Yields the events that the service receives, in order of publication, slice by slice. An empty slice can also be a
 * pause in which other fibers run. A plan with more than `mostPeople` makes its buildings again for each slice.
 */
export function* slices(
  scenario: Scenario,
  options: PlanOptions,
  mostPeople = mostKept
): IterableIterator<ReadonlyArray<Recorded>> {
  const { sites } = scenario
  const makeDay = dayMaker()
  const room = idRoomOf(sites.length)
  const people = sites.reduce((sum, site) => sum + site.people, 0) * (options.rateScale ?? 1)
  const isKept = people <= mostPeople
  const wanted = wantedEvents[isKept ? "kept" : "forgotten"]
  const cursors: Array<Cursor> = []
  const planOf = (site: Site, place: number) => new BuildingPlan(site.traffic(), place, room, options, makeDay)
  const readInto = (site: Site, place: number, { from, until }: Window, into: Array<Recorded>): void => {
    const own = windowOf(site.time_zone, options)
    if (own.from >= until || own.until <= from) return
    if (isKept) return (cursors[place] ??= new Cursor(planOf(site, place).records(own))).readUntil(until, into)
    const part = { from: Math.max(from, own.from), until: Math.min(until, own.until) }
    for (const record of planOf(site, place).records(part)) into.push(record)
  }
  const end = endOf(scenario, options)
  let length = firstSlice
  for (let from = beginningOf(scenario, options.start); from < end;) {
    const until = Math.min(end, from + length)
    const slice: Array<Recorded> = []
    for (const [place, site] of sites.entries()) {
      readInto(site, place, { from, until }, slice)
      if (place % buildingsAtOnce === buildingsAtOnce - 1) yield []
    }
    yield slice.toSorted(inOrder)
    const factor = Math.max(0.25, Math.min(4, wanted / Math.max(1, slice.length)))
    length = Math.max(shortestSlice, Math.min(dayMillis, Math.floor(length * factor)))
    from = until
  }
}

/** Yields the events that the service receives, in order of publication. */
export function* records(scenario: Scenario, options: PlanOptions): IterableIterator<Recorded> {
  for (const slice of slices(scenario, options)) for (const record of slice) yield record
}

/**
 * Number of events to make at a time, small enough that most are published and released before the next garbage
 * collection.
 */
const chunkSize = 200

type Chunks = IterableIterator<ReadonlyArray<PlannedEvent>>

function* plannedChunks(scenario: Scenario, options: PlanOptions, nextId?: () => number): Chunks {
  const renumbered = nextId === undefined ? (record: Recorded) => record : renumbering(nextId)
  for (const slice of slices(scenario, options)) {
    for (let at = 0; at === 0 || at < slice.length; at += chunkSize) {
      yield slice.slice(at, at + chunkSize).map((record) => plannedEvent(renumbered(record)))
    }
  }
}

/** Returns a function that gives records other ids. The end of a call keeps naming its call. */
const renumbering = (nextId: () => number): ((record: Recorded) => Recorded) => {
  const calls = new Map<number, number>()
  return ({ occurrence, ...times }) => {
    const id = nextId()
    if (occurrence._tag === "Call") calls.set(occurrence.id, id)
    if (occurrence._tag !== "CallEnd") return { ...times, occurrence: { ...occurrence, id } }
    const cause = calls.get(occurrence.cause) ?? occurrence.cause
    calls.delete(occurrence.cause)
    return { ...times, occurrence: { ...occurrence, id, cause } }
  }
}

/** Lets other fibers run in the pauses of a plan. */
const streamOf = (chunks: () => Chunks): Stream.Stream<PlannedEvent> =>
  Stream.suspend(() => Stream.fromIteratorSucceed(chunks(), 1)).pipe(
    Stream.mapEffect((chunk) => (chunk.length === 0 ? Effect.as(Effect.yieldNow, chunk) : Effect.succeed(chunk))),
    Stream.flattenIterable,
    Stream.rechunk(chunkSize)
  )

/** Returns the plan of a scenario: every event in order of time. */
export const plan = (scenario: Scenario, options: PlanOptions): Stream.Stream<PlannedEvent> =>
  streamOf(() => plannedChunks(scenario, options))

function* endlessChunks(scenario: Scenario, options: PlanOptions): Chunks {
  // The ids of later rounds count from 1. The ids of plans are larger, because they contain the day.
  let id = 0
  for (let round = 0; ; round++) {
    let isEmpty = true
    const own = { ...options, seed: options.seed + round }
    for (const chunk of plannedChunks(scenario, own, round === 0 ? undefined : () => ++id)) {
      isEmpty &&= chunk.length === 0
      yield chunk
    }
    if (isEmpty) return
  }
}

/**
 * Returns the events of a plan, followed by those of the same scenario with the next seeds, for loads that replace the
 * times of the events. Ends only if a plan is empty.
 */
export const endlessPlan = (scenario: Scenario, options: PlanOptions): Stream.Stream<PlannedEvent> =>
  streamOf(() => endlessChunks(scenario, options))

const windowsOf = ({ sites }: Scenario, options: PlanOptions): ReadonlyArray<Window> =>
  [...new Set(sites.map(({ time_zone }) => time_zone))].map((zone) => windowOf(zone, options))

/** Returns the time, in milliseconds since the epoch, at which the plan starts in the first building. */
export const beginningOf = (scenario: Scenario, start: LocalTime): number =>
  Math.min(...windowsOf(scenario, { seed: 0, start, duration: 0 }).map(({ from }) => from))

/** Returns the time, in milliseconds since the epoch, at which the plan ends in the last building. */
export const endOf = (scenario: Scenario, options: PlanOptions): number =>
  Math.max(...windowsOf(scenario, options).map(({ until }) => until))

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

/** Calls `use` with each record of a plan, and lets other fibers run from time to time. */
export const forEachRecord = Effect.fnUntraced(function* (
  scenario: Scenario,
  options: PlanOptions,
  use: (record: Recorded) => void
) {
  for (const slice of slices(scenario, options)) {
    for (const record of slice) use(record)
    yield* Effect.yieldNow
  }
})
