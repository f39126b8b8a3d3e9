/**
 * An event as the checks of a list of events see it: from a plan or from a file, which may be of another origin.
 */
import { Option, Result, Schema } from "effect"
import { plannedEvent, PlannedEvent } from "../plan/PlannedEvent.ts"
import type { Recorded } from "../plan/Recording.ts"
import { schemaProblems } from "@doorhook/core"

export interface EventRow {
  /** When it was published, and when the device says that it happened, in milliseconds since the epoch. */
  readonly at: number
  readonly logged_at: number
  readonly event: PlannedEvent
}

/** The row of a record of a plan. */
export const rowOf = (record: Recorded): EventRow => ({
  at: record.at,
  logged_at: record.logged_at,
  event: plannedEvent(record)
})

/** A line that is no event: which, and why. */
export class InvalidLine extends Schema.TaggedError<InvalidLine>()("InvalidLine", {
  line: Schema.Int,
  detail: Schema.String
}) {
  override get message(): string {
    return `line ${this.line}: ${this.detail}`
  }
}

const decode = Schema.decodeUnknownResult(PlannedEvent)

const isoPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

const instantOfIso = (text: string): Option.Option<number> =>
  isoPattern.test(text) && !Number.isNaN(Date.parse(text)) ? Option.some(Date.parse(text)) : Option.none()

/** Reads one line. */
export const readLine = (text: string, line: number): Result.Result<EventRow, InvalidLine> => {
  const invalid = (detail: string) => Result.fail(new InvalidLine({ line, detail }))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return invalid("is not JSON; one event is expected on each line")
  }
  const decoded = decode(value)
  if (Result.isFailure(decoded)) {
    const [problem] = schemaProblems(decoded.failure)
    return invalid(problem === undefined ? "is no event" : `${problem.pointer || "the line"} ${problem.detail}`)
  }
  const event = decoded.success
  const at = instantOfIso(event.at)
  const logged_at = instantOfIso(event.data.logged_at)
  if (Option.isNone(at)) return invalid("/at must be a time like 2026-03-02T07:30:00.000Z")
  if (Option.isNone(logged_at)) return invalid("/data/logged_at must be a time like 2026-03-02T07:30:00.000Z")
  return Result.succeed({ at: at.value, logged_at: logged_at.value, event })
}
