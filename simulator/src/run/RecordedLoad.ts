/** The load of a recorded log, as NDJSON or CSV, at its own times. */
import type { BuildingId, NewEvent, ResourceTypeTable, TenantId } from "@doorhook/core"
import { callEndType, CommandFailure, fileTrouble, PublishRequest } from "@doorhook/core"
import { Effect, FileSystem, Option, Predicate, Result, Stdio, Stream } from "effect"
import type { AccessLog, LogOptions } from "../plan/AccessLog.ts"
import { eventsOf, isCsv, readLog, textOfLog } from "../plan/AccessLog.ts"
import { instantOfIso } from "../plan/EventRow.ts"
import { LogCounts } from "../plan/LogCounts.ts"
import { fromIso } from "../plan/PlannedEvent.ts"
import type { Premises } from "./Integrations.ts"
import type { Arrival } from "./Load.ts"

const standardInput = "-"

/** Returns the bytes of a file, a pipe, or standard input. Reads pipes as a whole, because they have no offsets. */
const bytesOf = (path: string) =>
  Stream.unwrap(
    Effect.gen(function* () {
      if (path === standardInput) return (yield* Stdio.Stdio).stdin
      const files = yield* FileSystem.FileSystem
      const { type } = yield* files.stat(path)
      return type === "FIFO" || type === "Socket" ? Stream.fromEffect(files.readFile(path)) : files.stream(path)
    })
  ).pipe(
    Stream.catchTag("PlatformError", (error) =>
      Stream.fail(CommandFailure.usage(`${path}: expected a file that can be read; ${fileTrouble(error)}`))
    )
  )

/** Returns the lines of a log. */
export const linesOf = (path: string) => bytesOf(path).pipe(Stream.decodeText, Stream.splitLines)

/** Reads an access log in CSV. */
export const readCsv = Effect.fnUntraced(function* (path: string, options: LogOptions) {
  const text = textOfLog(yield* Stream.mkUint8Array(bytesOf(path)))
  return yield* Effect.mapError(Effect.fromResult(readLog(text, options)), ({ message }) =>
    CommandFailure.usage(`${path}: ${message}`)
  )
})

/** An event of a file with its time, or the problems of its line. */
type Line = Result.Result<{ readonly event: NewEvent; readonly at: number }, ReadonlyArray<string>>

/** Part of a message: only a service can declare other types. */
const otherTypes = (types: ResourceTypeTable): string =>
  `${types.has(callEndType) ? "" : `, or ${callEndType} with --call-end`}; other types must be declared by a service (--to)`

/** Returns a reader for lines of an event file. A service checks the resource types itself; `types` is then null. */
const lineReader = (types: ResourceTypeTable | null): ((text: string) => Line) => {
  const { fromText } = types === null ? PublishRequest.uncheckedReader : PublishRequest.readerOf(types)
  return (text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return Result.fail([
        "is not JSON; expected one object per line (NDJSON), or a name like FILE.csv for an access log in CSV"
      ])
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
            pointer === "/resource_type" && types !== null
              ? `${pointer} ${detail.replace(/;.*/, otherTypes(types))}`
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

interface RecordedLoad {
  readonly arrivals: Stream.Stream<Arrival, CommandFailure>
  readonly beginning: number
  /** Time from the first event to the last, in milliseconds. */
  readonly span: number
  readonly events: number
  readonly counts: LogCounts
  /** Buildings and tenants that occur in the events. Their time zones are unknown, so UTC is assumed. */
  readonly premises: ReadonlyArray<Premises>
}

/** Returns the events of a CSV log at the times by which they were uploaded. */
const ofCsv = (log: AccessLog) => ({
  arrivals: Stream.fromIterable(eventsOf(log).map((event): Arrival => ({ event, at: fromIso(event.at) }))),
  counts: log.counts
})

/** Returns the events of lines. An event that comes after later ones was uploaded late, so it is played after them. */
const ofLines = (path: string, lines: Stream.Stream<string, CommandFailure>, types: ResourceTypeTable | null) => {
  const readLine = lineReader(types)
  const counts = new LogCounts()
  const arrivals = Stream.suspend(() => {
    let number = 0
    let latest = Number.NEGATIVE_INFINITY
    const isFirst = counts.rows === 0
    const read = (text: string): Effect.Effect<Arrival | null, CommandFailure> => {
      number++
      if (text.trim() === "") return Effect.succeed(null)
      const line = readLine(text)
      if (Result.isFailure(line))
        return CommandFailure.usage(
          `--events ${path}, line ${number}: ${line.failure.join("; ")}; expected an event as simulate plan writes it`
        )
      const { at, event } = line.success
      if (isFirst) {
        counts.content(`${event.building_id} ${event.resource_type} ${event.data}`)
        counts.time(at, latest)
      }
      latest = Math.max(latest, at)
      return Effect.succeed({ event, at: latest })
    }
    return lines.pipe(
      Stream.mapEffect(read),
      Stream.filter((arrival) => arrival !== null)
    )
  })
  return { arrivals, counts }
}

/** Reads a whole log, so that mistakes are found before anything is sent. Sending reads the lines of a file again. */
export const readEvents = Effect.fnUntraced(function* (
  path: string,
  options: LogOptions,
  types: ResourceTypeTable | null,
  duration: number
) {
  const context = yield* Effect.context<FileSystem.FileSystem | Stdio.Stdio>()
  const lines = linesOf(path).pipe(Stream.provideContext(context))
  const again = path === standardInput ? Stream.fromIterable(yield* Stream.runCollect(lines)) : lines
  const { arrivals: all, counts } = isCsv(path) ? ofCsv(yield* readCsv(path, options)) : ofLines(path, again, types)
  let first: number | null = null
  const arrivals = all.pipe(Stream.takeWhile(({ at }) => at - (first ??= at) < duration))
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
  const premises = [...tenants].map(([id, own]): Premises => {
    return { id, zone: "UTC", details: () => ({ name: `building ${id}`, tenants: [...own] }) }
  })
  return { arrivals, beginning: first, span: end - first + 1, events, counts, premises } satisfies RecordedLoad
})
