/**
 * An access log as the fit sees it: who opened which door when, and who rang.
 */
import { Result, Schema } from "effect"
import { dayNumberAt } from "../world/LocalDay.ts"
import { dayMillis, hour } from "../world/LocalTime.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"
import { columns, columnNames, placesIn } from "./Columns.ts"
import type { ColumnName } from "./Columns.ts"
import { csvRows, delimiterOf } from "./Csv.ts"
import { expectedTime, readTime } from "./LogTime.ts"

export interface LogEntry {
  readonly time: number
  /** Day of the calendar, and the clock in hours, in the log's time zone. */
  readonly day: number
  readonly clock: number
  readonly isCall: boolean
  readonly door: string
  readonly person: string
  readonly unit: string
  readonly method: "app" | "swipe_to_open" | "pin" | "qr_code" | ""
  readonly isDenied: boolean
  readonly isDelivery: boolean
}

export interface AccessLog {
  readonly entries: ReadonlyArray<LogEntry>
  readonly zone: string
  readonly has: ReadonlySet<ColumnName>
}

/** The log can't be read: the line, and what is wrong with it. */
export class InvalidLog extends Schema.TaggedError<InvalidLog>()("InvalidLog", {
  line: Schema.Int,
  detail: Schema.String
}) {
  override get message(): string {
    return `line ${this.line}: ${this.detail}`
  }
}

export interface LogOptions {
  /** For times without an offset, and for what clocks showed. */
  readonly zone: string
  /** By which headings the log calls its columns. */
  readonly named: Partial<Readonly<Record<ColumnName, string>>>
  readonly delimiter: string | null
}

const callWords = /call|ring|intercom|klingel|anruf/i
const deniedWords = /den(y|ied)|refus|reject|invalid|fail|forbid|abgelehnt|verweigert/i
const deliveryWords = /deliver|courier|parcel|package|food|liefer|paket/i

const methodOf = (text: string): LogEntry["method"] => {
  if (/swipe|mobile|bluetooth|ble|nfc|card|badge|fob/i.test(text)) return "swipe_to_open"
  if (/qr/i.test(text)) return "qr_code"
  if (/pin|code|keypad/i.test(text)) return "pin"
  return /app|remote|intercom|video/i.test(text) ? "app" : ""
}

/** Reads an access log. Rows need not be in order. */
export const readLog = (text: string, { delimiter, named, zone }: LogOptions): Result.Result<AccessLog, InvalidLog> => {
  const rows = csvRows(text, delimiter ?? delimiterOf(text.replace(/^\ufeff/, "")))
  const header = rows.next()
  const invalid = (line: number, detail: string) => Result.fail(new InvalidLog({ line, detail }))
  if (header.done === true) return invalid(1, "the file is empty; expected a header and rows")
  const places = placesIn(header.value.cells, named)
  const found = header.value.cells.map((cell) => JSON.stringify(cell)).join(", ")
  if ("missing" in places)
    return invalid(1, `there is no column ${JSON.stringify(places.missing)}; the header has ${found}`)
  if (places.time === undefined) {
    return invalid(
      1,
      `no column is a time (${columns.time.join(", ")}); name it by --columns time=HEADING. The header has ${found}`
    )
  }
  const entries: Array<LogEntry> = []
  for (const { cells, line } of rows) {
    const cell = (name: ColumnName): string => (places[name] === undefined ? "" : (cells[places[name]] ?? ""))
    if (cells.length !== header.value.cells.length) {
      return invalid(line, `has ${cells.length} cells, the header has ${header.value.cells.length}`)
    }
    const time = readTime(cell("time"), zone)
    if (time === null) return invalid(line, `${JSON.stringify(cell("time"))} is no time; expected ${expectedTime}`)
    const day = dayNumberAt(time, zone)
    entries.push({
      time,
      day,
      clock: (time + offsetAt(time, zone) - day * dayMillis) / hour,
      isCall: callWords.test(cell("kind")),
      door: cell("door"),
      person: cell("person"),
      unit: cell("unit"),
      method: methodOf(cell("method")),
      isDenied: deniedWords.test(cell("status")),
      isDelivery: deliveryWords.test(cell("purpose")) || deliveryWords.test(cell("person"))
    })
  }
  if (entries.length === 0) return invalid(header.value.line, "there are no rows after the header")
  return Result.succeed({
    entries: entries.toSorted((a, b) => a.time - b.time),
    zone,
    has: new Set(columnNames.filter((name) => places[name] !== undefined))
  })
}
