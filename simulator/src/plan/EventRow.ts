/** Reads recorded events from any source: lines of NDJSON with the members of planned events. */
import { Option, Result, Schema } from "effect"
import { AnyPlannedEvent, loggedAt, PlannedEvent } from "./PlannedEvent.ts"
import { callEndType, schemaProblems } from "@doorhook/core"

export interface EventRow {
  /**
   * Time of publication, and time of the occurrence as shown by the device's clock, in milliseconds since the epoch.
   */
  readonly at: number
  readonly logged_at: number
  readonly event: PlannedEvent
}

/** A line that is not an event, and the reason. */
export class InvalidLine extends Schema.TaggedError<InvalidLine>()("InvalidLine", {
  line: Schema.Int,
  detail: Schema.String
}) {
  override get message(): string {
    return `line ${this.line}: ${this.detail}`
  }
}

const decode = Schema.decodeUnknownResult(PlannedEvent, { errors: "all" })
const decodeAny = Schema.decodeUnknownResult(AnyPlannedEvent, { errors: "all" })
const hasKnownType = Schema.is(Schema.Struct({ resource_type: AnyPlannedEvent.fields.resource_type }))

/** Maximum number of problems to report for one line. */
const mostListed = 8

/** Describes what is wrong with the members of a line. */
const problemsIn = (error: Schema.SchemaError): string => {
  const listed = schemaProblems(error).map(
    ({ detail, pointer }) => `${pointer === "" ? "the line" : pointer} ${detail}`
  )
  const more = listed.length - mostListed
  return [...listed.slice(0, mostListed), ...(more > 0 ? [`and ${more} more`] : [])].join("; ")
}

const isoPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** Reads a time with an offset, in milliseconds since the epoch. */
export const instantOfIso = (text: string): Option.Option<number> =>
  isoPattern.test(text) && !Number.isNaN(Date.parse(text)) ? Option.some(Date.parse(text)) : Option.none()

/** Reads one line. */
export const readLine = (text: string, line: number): Result.Result<EventRow, InvalidLine> => {
  const invalid = (detail: string) => Result.fail(new InvalidLine({ line, detail }))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return invalid("is not JSON; expected one event per line")
  }
  if (!hasKnownType(value)) {
    const any = decodeAny(value)
    if (Result.isFailure(any)) return invalid(problemsIn(any.failure))
  }
  const decoded = decode(value)
  if (Result.isFailure(decoded)) return invalid(problemsIn(decoded.failure))
  const event = decoded.success
  const at = instantOfIso(event.at)
  const logged_at = instantOfIso(loggedAt(event))
  if (Option.isNone(at)) return invalid("/at must be a time like 2026-03-02T07:30:00.000Z")
  if (Option.isNone(logged_at)) {
    const name = event.resource_type === callEndType ? "ended_at" : "logged_at"
    return invalid(`/data/${name} must be a time like 2026-03-02T07:30:00.000Z`)
  }
  return Result.succeed({ at: at.value, logged_at: logged_at.value, event })
}
