/** The load of a run: events of a scenario or a file, at their own times or at a given rate. */
import type { CommandFailure, NewEvent } from "@doorhook/core"
import { DurationText, JsonText } from "@doorhook/core"
import { Option, Stream } from "effect"
import { fromIso, loggedAt, movedTo, toIso } from "../plan/PlannedEvent.ts"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import { exponential } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import { minute } from "../world/LocalTime.ts"
import type { Premises } from "./Integrations.ts"

/** An event of a plan, or a recorded event. The `data` of a recorded event keeps its original text. */
export type LoadEvent = PlannedEvent | NewEvent

const isPlanned = (event: LoadEvent): event is PlannedEvent => Object.hasOwn(event, "at")

/** Converts an event for a publisher. */
export const newEventOf = (event: LoadEvent): NewEvent => {
  if (!isPlanned(event)) return event
  const { action, building_id, data, resource_type, tenant_ids } = event
  const text = JsonText.JsonText.make(JSON.stringify(data), { disableChecks: true })
  return { resource_type, action, building_id, tenant_ids, data: text }
}

/** Returns the line of an event at its time, including the line break, in the form of a plan. */
export const lineOfArrival = ({ at, event }: Arrival): string => {
  const { data, ...rest } = newEventOf(event)
  return `${JSON.stringify({ at: toIso(at), ...rest }).slice(0, -1)},"data":${data}}\n`
}

/** An event and its time in the plan, in milliseconds since the epoch. */
export interface Arrival {
  readonly event: LoadEvent
  readonly at: number
}

/** Time from an event to its publication, in milliseconds, above which its device was offline. */
const longestUpload = 5 * minute

/** Returns the time since which an offline device had stored the event; null if it was published at once. */
export const storedSince = ({ at, event }: Arrival): number | null => {
  const since = isPlanned(event) ? fromIso(loggedAt(event)) : at
  return at - since > longestUpload ? since : null
}

/** Returns the events of a plan at their own times. */
export const atPlannedTimes = <E, R>(events: Stream.Stream<PlannedEvent, E, R>): Stream.Stream<Arrival, E, R> =>
  Stream.map(events, (event) => ({ event, at: fromIso(event.at) }))

/** The load of a run. */
export interface Load {
  readonly name: string
  readonly description: string
  /** Remarks to print before the run, one per line. */
  readonly notes: ReadonlyArray<string>
  readonly start: string
  readonly time_zone: string | null
  /** Length in milliseconds. */
  readonly duration: number
  /** Maximum number of events; `Infinity` if unknown. */
  readonly mostEvents: number
  readonly premises: ReadonlyArray<Premises>
  /** Time at which the plan begins, in milliseconds since the epoch. */
  readonly beginning: number
  readonly end: number
  readonly arrivals: (seed: number) => Stream.Stream<Arrival, CommandFailure>
}

/** A rate of events and how long it lasts: `200/s:5m`. In a ramp, `10/s..200/s:5m`, the rate changes linearly. */
export interface Stage {
  /** Events per millisecond at the beginning and at the end. */
  readonly from: number
  readonly to: number
  readonly length: number
}

const periods: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Highest rate, in events per second. */
const highestRate = 100_000

export const rateForms = `a rate like 50/s, 120/m or 10/h, at most ${highestRate}/s`
export const stageForms = "stages like 10/s:1m,10/s..200/s:5m,200/s:5m"

export const readRate = (text: string): Option.Option<number> => {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\/([smh])$/.exec(text.trim())
  const rate = Number(match?.[1]) / (periods[match?.[2] ?? ""] ?? Number.NaN)
  return rate >= 0 && rate * 1_000 <= highestRate ? Option.some(rate) : Option.none()
}

export const readStages = (text: string): Option.Option<ReadonlyArray<Stage>> =>
  Option.all(
    text.split(",").map((part) => {
      const at = part.indexOf(":")
      const length = Option.filter(DurationText.parse(part.slice(at + 1)), (millis) => millis > 0)
      const [first = "", last = first, ...more] = part.slice(0, Math.max(0, at)).split("..")
      const rates = more.length > 0 ? Option.none() : Option.all([readRate(first), readRate(last)])
      return Option.map(Option.all([rates, length]), ([[from, to], own]): Stage => ({ from, to, length: own }))
    })
  )

/** Expected number of events of a stage. */
const eventsOf = ({ from, length, to }: Stage): number => (length * (from + to)) / 2

/** Returns the time in a stage by which this number of events is expected. */
const timeOf = ({ from, length, to }: Stage, events: number): number => {
  const slope = (to - from) / length
  // The events until a time t are from * t + slope * t^2 / 2. This form of the root is also exact without a slope.
  const root = Math.sqrt(Math.max(0, from * from + 2 * slope * events))
  return from + root === 0 ? 0 : Math.min(length, (2 * events) / (from + root))
}

/**
 * Returns the total length of the stages, in milliseconds, and the expected number of events. With `most` events, the
 * stages end early if they need more.
 */
export const extentOf = (stages: ReadonlyArray<Stage>, most = Infinity) => {
  const extent = { length: 0, events: 0 }
  for (const stage of stages) {
    if (extent.events >= most) break
    const events = Math.min(eventsOf(stage), most - extent.events)
    extent.length += events === eventsOf(stage) ? stage.length : timeOf(stage, events)
    extent.events += events
  }
  return extent
}

/**
 * Returns the maximum number of arrivals. For random arrivals, this is five standard deviations above the expected number,
 * which is exceeded once in millions of runs.
 */
export const mostArrivals = (stages: ReadonlyArray<Stage>, isEven: boolean): number => {
  const { events } = extentOf(stages)
  return Math.ceil(isEven ? events : events + 5 * Math.sqrt(events))
}

/**
 * Yields arrival times in milliseconds since the beginning: at random and independent of each other (Poisson), or
 * evenly spaced if `rng` is null.
 */
export function* arrivalTimes(stages: ReadonlyArray<Stage>, rng: Rng | null): IterableIterator<number> {
  // Position of the next arrival, counted in expected events. Each stage converts positions to milliseconds.
  let next = rng === null ? 0 : exponential(rng)
  let [begins, reached] = [0, 0]
  for (const stage of stages) {
    const end = reached + eventsOf(stage)
    for (; next < end; next += rng === null ? 1 : exponential(rng)) yield begins + timeOf(stage, next - reached)
    begins += stage.length
    reached = end
  }
}

/** Moves events to the arrival times of the stages. Moves the times in the data of planned events equally. */
export const atRate = <E, R>(
  events: Stream.Stream<Arrival, E, R>,
  stages: ReadonlyArray<Stage>,
  rng: Rng | null,
  beginning: number
): Stream.Stream<Arrival, E, R> =>
  Stream.zipWith(
    events,
    Stream.suspend(() => Stream.fromIteratorSucceed(arrivalTimes(stages, rng), 1_000)),
    ({ event }, time) => {
      const at = Math.floor(beginning + time)
      return { event: isPlanned(event) ? movedTo(event, at) : event, at }
    }
  )

/** Keeps the share of one of several generators: every `count`th event, starting with the `nth`. */
export const shareOf =
  (nth: number, count: number) =>
  <E, R>(events: Stream.Stream<Arrival, E, R>): Stream.Stream<Arrival, E, R> =>
    count === 1
      ? events
      : events.pipe(
          Stream.zipWithIndex,
          Stream.filter(([, at]) => at % count === nth - 1),
          Stream.map(([event]) => event)
        )
