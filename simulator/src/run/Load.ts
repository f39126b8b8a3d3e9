/** The load of a run: events of a scenario or a file, at their own times or at a given rate. */
import type { BuildingId, NewEvent, TenantId } from "@doorhook/core"
import { builtInTable, CommandFailure, DurationText, fileTrouble, JsonText, PublishRequest } from "@doorhook/core"
import { Effect, FileSystem, Option, Predicate, Result, Stream } from "effect"
import { instantOfIso } from "../plan/EventRow.ts"
import { fromIso, movedTo } from "../plan/PlannedEvent.ts"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import { exponential } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
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

/** An event and its time in the plan, in milliseconds since the epoch. */
export interface Arrival {
  readonly event: LoadEvent
  readonly at: number
}

/** Returns the events of a plan at their own times. */
export const atPlannedTimes = <E, R>(events: Stream.Stream<PlannedEvent, E, R>): Stream.Stream<Arrival, E, R> =>
  Stream.map(events, (event) => ({ event, at: fromIso(event.at) }))

/** The load of a run. */
export interface Load {
  readonly name: string
  readonly description: string
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

/** A rate of events and how long it lasts: `200/s:5m`. */
export interface Stage {
  readonly perMillisecond: number
  readonly length: number
}

const periods: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Highest rate, in events per second. */
const highestRate = 100_000

export const rateForms = `a rate like 50/s, 120/m or 10/h, at most ${highestRate}/s`
export const stageForms = "stages like 10/s:1m,200/s:5m,10/s:1m"

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
      return Option.map(Option.all([readRate(part.slice(0, Math.max(0, at))), length]), ([perMillisecond, own]) => ({
        perMillisecond,
        length: own
      }))
    })
  )

/**
 * Returns the total length of the stages, in milliseconds, and the expected number of events. With `most` events, the
 * stages end early if they need more.
 */
export const extentOf = (stages: ReadonlyArray<Stage>, most = Infinity) => {
  const extent = { length: 0, events: 0 }
  for (const { length, perMillisecond } of stages) {
    if (extent.events >= most) break
    const events = length * perMillisecond
    const share = Math.min(1, (most - extent.events) / events)
    extent.length += length * share
    extent.events += events * share
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
  let [from, reached] = [0, 0]
  for (const { length, perMillisecond } of stages) {
    const end = reached + length * perMillisecond
    for (; next < end; next += rng === null ? 1 : exponential(rng)) yield from + (next - reached) / perMillisecond
    from += length
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

/** An event of a file with its time, or the problems of its line. */
type Line = Result.Result<{ readonly event: NewEvent; readonly at: number }, ReadonlyArray<string>>

/** Part of a message: only a service can declare other types. */
const otherTypes = "; other types must be declared by a service (--to)"

/** Returns a reader for lines of an event file. With a service, the service checks the resource types. */
const lineReader = (isService: boolean): ((text: string) => Line) => {
  const { fromText } = isService ? PublishRequest.uncheckedReader : PublishRequest.readerOf(builtInTable)
  return (text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return Result.fail(["is not JSON; expected one object per line (NDJSON)"])
    }
    if (!Predicate.isObject(value) || Array.isArray(value)) return Result.fail(["is not a JSON object"])
    const written: unknown = Reflect.get(value, "at")
    const at = Predicate.isString(written) ? instantOfIso(written) : Option.none()
    const timeless = Option.isNone(at) ? ["/at must be a time like 2026-03-02T07:30:00.000Z"] : []
    return Result.match(fromText(text), {
      onFailure: ({ problems }) =>
        Result.fail([
          ...timeless,
          ...problems.map(({ detail, pointer }) =>
            pointer === "/resource_type" && !isService
              ? `${pointer} ${detail.replace(/;.*/, otherTypes)}`
              : `${pointer} ${detail}`.trimStart()
          )
        ]),
      onSuccess: ({ events: [event], oversights }): Line =>
        event === undefined || Option.isNone(at) || oversights.length > 0
          ? Result.fail([...timeless, ...oversights])
          : Result.succeed({ event, at: at.value })
    })
  }
}

interface EventFile {
  readonly arrivals: Stream.Stream<Arrival, CommandFailure>
  readonly beginning: number
  /** Time from the first event to the last, in milliseconds. */
  readonly span: number
  readonly events: number
  /** Buildings and tenants that occur in the events. Their time zones are unknown, so UTC is assumed. */
  readonly premises: ReadonlyArray<Premises>
}

/** Reads a whole event file, so that mistakes are found before anything is sent. Sending reads the file again. */
export const readEvents = Effect.fnUntraced(function* (path: string, isService: boolean, duration: number) {
  const files = yield* FileSystem.FileSystem
  const readLine = lineReader(isService)
  const wrong = (line: number, what: string) => CommandFailure.usage(`--events ${path}, line ${line}: ${what}`)
  let number = 0
  let first: number | null = null
  let last = Number.NEGATIVE_INFINITY
  const read = (text: string): Effect.Effect<Arrival | null, CommandFailure> => {
    number++
    if (text.trim() === "") return Effect.succeed(null)
    const line = readLine(text)
    if (Result.isFailure(line))
      return wrong(number, `${line.failure.join("; ")}; expected an event as simulate plan writes it`)
    const { at, event } = line.success
    if (at < last) return wrong(number, "/at is earlier than on the line before; sort the file by time")
    last = at
    first ??= at
    return Effect.succeed(at - first < duration ? { event, at } : null)
  }
  const arrivals = Stream.suspend(() => {
    number = 0
    last = Number.NEGATIVE_INFINITY
    return files.stream(path).pipe(
      Stream.decodeText,
      Stream.splitLines,
      Stream.mapEffect(read),
      Stream.filter((arrival) => arrival !== null),
      Stream.catchTag("PlatformError", (error) =>
        Stream.fail(CommandFailure.usage(`--events ${path}: expected a file that can be read; ${fileTrouble(error)}`))
      )
    )
  })
  const tenants = new Map<BuildingId, Set<TenantId>>()
  let events = 0
  let end = 0
  yield* Stream.runForEach(arrivals, ({ at, event: { building_id, tenant_ids } }) =>
    Effect.sync(() => {
      events++
      end = at
      const known = tenants.get(building_id) ?? new Set()
      tenants.set(building_id, known)
      for (const tenant of tenant_ids) known.add(tenant)
    })
  )
  if (first === null)
    return yield* CommandFailure.usage(`--events ${path}: expected events, one per line; the file has none`)
  const premises = [...tenants].map(([id, all]): Premises => {
    return { id, name: `building ${id}`, zone: "UTC", tenants: [...all] }
  })
  return { arrivals, beginning: first, span: end - first + 1, events, premises } satisfies EventFile
})
