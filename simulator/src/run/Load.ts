/**
 * What a run sends, and when: the day of a scenario, a file of events, or either at a rate of its own.
 */
import { Action, BuildingId, CommandFailure, DurationText, fileTrouble, schemaProblems, TenantId } from "@doorhook/core"
import { Effect, FileSystem, Option, Schema, Stream } from "effect"
import { movedTo } from "../plan/PlannedEvent.ts"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import { exponential } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { Premises } from "./World.ts"

/** An event as it is published, of a plan or recorded elsewhere. */
export interface LoadEvent {
  readonly resource_type: string
  readonly action: string
  readonly building_id: BuildingId
  readonly tenant_ids: ReadonlyArray<TenantId>
  readonly data: object
}

/** An event and its time in the plan, in milliseconds since the epoch. */
export interface Arrival {
  readonly event: LoadEvent
  readonly at: number
  readonly kind: "planned" | "repeated"
}

/** What a run sends, and when. */
export interface Load {
  readonly name: string
  readonly description: string
  readonly start: string
  readonly time_zone: string | null
  /** How long it is, in milliseconds, and in words. */
  readonly duration: number
  readonly premises: ReadonlyArray<Premises>
  /** In the plan's time, in milliseconds since the epoch. */
  readonly beginning: number
  readonly end: number
  readonly arrivals: (seed: number) => Stream.Stream<Arrival, CommandFailure>
}

/** A rate of events for a time: `200/s:5m`. */
export interface Stage {
  readonly perMillisecond: number
  readonly length: number
}

const periods: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** The highest rate, in events a second. */
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

/** How long stages last, and how many events come in them on average. */
export const extentOf = (stages: ReadonlyArray<Stage>) => ({
  length: stages.reduce((sum, { length }) => sum + length, 0),
  events: stages.reduce((sum, { length, perMillisecond }) => sum + length * perMillisecond, 0)
})

/** Times of arrivals since the beginning: at random as independent people come (Poisson), or evenly spaced. */
export function* arrivalTimes(stages: ReadonlyArray<Stage>, rng: Rng | null): IterableIterator<number> {
  // In units of expected events: stages stretch them to milliseconds.
  let next = rng === null ? 0 : exponential(rng)
  let [from, reached] = [0, 0]
  for (const { length, perMillisecond } of stages) {
    const end = reached + length * perMillisecond
    for (; next < end; next += rng === null ? 1 : exponential(rng)) yield from + (next - reached) / perMillisecond
    from += length
    reached = end
  }
}

/** Events at the times of stages, in place of their own. What they say of themselves moves with them. */
export const atRate = <E, R>(
  events: Stream.Stream<Arrival, E, R>,
  stages: ReadonlyArray<Stage>,
  rng: Rng | null,
  beginning: number
): Stream.Stream<Arrival, E, R> =>
  Stream.zipWith(
    events,
    Stream.suspend(() => Stream.fromIteratorSucceed(arrivalTimes(stages, rng), 1_000)),
    ({ event, kind }, time) => {
      const at = Math.floor(beginning + time)
      return { event: isPlanned(event) ? movedTo(event, at) : event, at, kind }
    }
  )

const isPlanned = (event: LoadEvent): event is PlannedEvent => Object.hasOwn(event, "at")

/** Every `count`th event from the `nth` on: the share of one generator of several. */
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

/** A line of a file of events: as `simulate plan` writes it, or recorded elsewhere. Other members are left out. */
const Line = Schema.fromJsonString(
  Schema.Struct({
    at: Schema.String.check(
      Schema.makeFilter((text) => !Number.isNaN(Date.parse(text)) || "must be a time like 2026-03-02T07:30:00.000Z")
    ),
    building_id: BuildingId,
    tenant_ids: Schema.Array(TenantId),
    resource_type: Schema.NonEmptyString,
    action: Action,
    data: Schema.Record(Schema.String, Schema.Unknown)
  })
)
const decodeLine = Schema.decodeResult(Line)

interface EventFile {
  readonly arrivals: Stream.Stream<Arrival, CommandFailure>
  readonly beginning: number
  /** From the first event to the last, in milliseconds. */
  readonly span: number
  readonly events: number
  /** The buildings and tenants that its events name; their clocks are not known, and taken for UTC. */
  readonly premises: ReadonlyArray<Premises>
}

/**
 * Reads a file of events once through, so that a mistake is found before anything is sent; they are read again while they are
 * sent. `types` are the resource types that can be published; null where only the service knows them.
 */
export const readEvents = Effect.fnUntraced(function* (
  path: string,
  types: ReadonlyArray<string> | null,
  duration: number
) {
  const files = yield* FileSystem.FileSystem
  const wrong = (line: number, what: string) => CommandFailure.usage(`--events ${path}, line ${line}: ${what}`)
  let number = 0
  let first: number | null = null
  let last = Number.NEGATIVE_INFINITY
  const read = (text: string): Effect.Effect<Arrival | null, CommandFailure> => {
    number++
    if (text.trim() === "") return Effect.succeed(null)
    const line = decodeLine(text)
    if (line._tag === "Failure")
      return wrong(
        number,
        `${schemaProblems(line.failure)
          .map(({ detail, pointer }) => `${pointer === "" ? "it" : pointer} ${detail}`)
          .join("; ")}; expected an event as simulate plan writes it`
      )
    const { at: written, ...event } = line.success
    const at = Date.parse(written)
    if (types !== null && !types.includes(event.resource_type))
      return wrong(
        number,
        `/resource_type must be one of ${types.join(", ")}; others are the declared ones of a service (--to)`
      )
    if (at < last) return wrong(number, "/at is earlier than on the line before; sort the file by time")
    last = at
    first ??= at
    return Effect.succeed(at - first < duration ? { event, at, kind: "planned" } : null)
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
    return yield* CommandFailure.usage(`--events ${path}: expected events, one on each line; there is none`)
  const premises = [...tenants].map(([id, all]): Premises => {
    return { id, name: `building ${id}`, zone: "UTC", tenants: [...all] }
  })
  return { arrivals, beginning: first, span: end - first + 1, events, premises } satisfies EventFile
})
