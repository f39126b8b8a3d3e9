/** Reads an access log in CSV: the openings of doors and the calls. */
import { CsvError, parse } from "csv-parse/sync"
import { Result, Schema } from "effect"
import { dayNumberOf } from "../world/CalendarDate.ts"
import { dayMillis, hour, minute, second } from "../world/LocalTime.ts"
import { instantAt } from "../world/zones/TimeZone.ts"

/** Columns of a log, with the headings that are recognized for each column. */
const headings = {
  time: ["time", "timestamp", "datetime", "date_time", "logged_at", "at", "event_time"],
  kind: ["kind", "type", "event", "event_type", "resource_type"],
  door: ["door", "access_point", "reader", "panel", "gate", "location"],
  person: ["person", "name", "user", "holder", "cardholder", "credential", "card", "badge", "user_id"],
  unit: ["unit", "flat", "apartment", "tenant", "company", "unit_label"],
  method: ["method", "entry_method", "how", "medium"],
  status: ["status", "release_status", "result", "outcome", "decision"],
  purpose: ["purpose", "notification_type", "call_type"]
} as const satisfies Record<string, ReadonlyArray<string>>

export type ColumnName = keyof typeof headings
const isColumn = (name: string): name is ColumnName => Object.hasOwn(headings, name)
export const columnNames: ReadonlyArray<ColumnName> = Object.keys(headings).filter(isColumn)

/** Reads the value of `--columns`, such as `time=Zeit,person=Karte`; null if the text is invalid. */
export const readColumns = (text: string): LogOptions["named"] | null => {
  const named: { [Name in ColumnName]?: string } = {}
  for (const part of text.split(",").filter((own) => own.trim() !== "")) {
    const [name = "", ...heading] = part.split("=")
    const column = name.trim()
    if (!isColumn(column) || heading.length === 0) return null
    named[column] = heading.join("=").trim()
  }
  return named
}

export interface LogEntry {
  readonly time: number
  readonly isCall: boolean
  readonly door: string
  readonly person: string
  readonly unit: string
  /** Whether the door was opened from the app. */
  readonly isFromApp: boolean
  readonly isDenied: boolean
  readonly isDelivery: boolean
}

/** An unreadable log: the line, and what is wrong there. */
export class InvalidLog extends Schema.TaggedError<InvalidLog>()("InvalidLog", {
  line: Schema.Int,
  detail: Schema.String
}) {
  override get message(): string {
    return `line ${this.line}: ${this.detail}`
  }
}

/** Meanings of the first number in dates like 03/02/2026. */
export const dateOrders = ["month-first", "day-first"] as const
export type DateOrder = (typeof dateOrders)[number]

export interface LogOptions {
  /** Time zone for times without an offset. */
  readonly zone: string
  /** Headings that the log uses for columns. */
  readonly named: Readonly<Partial<Record<ColumnName, string>>>
  readonly dates: DateOrder
}

/**
 * Returns a function that tests whether a text contains one of these words as a whole word. In camel case, each part is
 * a word: `accessDenied` has two.
 */
const anyWord = (words: string): ((text: string) => boolean) => {
  const whole = new RegExp(`(?<!\\p{L})(?:${words})(?!\\p{L})`, "iu")
  return (text) => whole.test(text.replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " "))
}

const isCallWord = anyWord("calls?|called|calling|rings?|rang|ringing|doorbells?|bell|intercom")
const isDeniedWord = anyWord("deny|denied|denial|refused?|rejected?|invalid|fail|failed|failure|forbidden")
const isAppWord = anyWord("apps?|remote|remotely|intercom|video")
const isCardOrCode = anyWord(
  "swipe|mobile|bluetooth|ble|nfc|\\p{L}*cards?|\\p{L}*badges?|(?:key)?fobs?|qr(?:code)?s?|barcodes?|pins?|(?:pin)?codes?|keypad"
)
const isDeliveryWord = anyWord("deliver|delivered|delivery|deliveries|couriers?|parcels?|packages?|food")

const iso =
  /^(?<year>\d{4})[-/](?<month>\d{1,2})[-/](?<day>\d{1,2})[T ]+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)\s*(?<zone>Z|UTC|[+-]\d{2}:?\d{2})?$/i
const dotted = /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4}),?\s+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)$/
const slashed =
  /^(?<first>\d{1,2})\/(?<second>\d{1,2})\/(?<year>\d{4}),?\s+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)\s*(?<half>[AP]M)?$/i

const expectedTime =
  "a time like 2026-03-02T07:30:00Z, 2026-03-02 07:30:00, 02.03.2026 07:30, 03/02/2026 07:30 AM, or seconds since 1970"

/** Returns the milliseconds since midnight; null if the text is not a time of day. */
const timeOfDay = (text: string, half: string | undefined): number | null => {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(",", ".").split(":").map(Number)
  if (hours > 23 || minutes > 59 || seconds >= 60 || (half !== undefined && (hours < 1 || hours > 12))) return null
  const shown = half === undefined ? hours : (hours % 12) + (half.toUpperCase() === "PM" ? 12 : 0)
  return shown * hour + minutes * minute + Math.round(seconds * second)
}

/**
 * Reads a time, and returns milliseconds since the epoch; null if the text is not a time. A time without an offset is
 * in `zone`.
 */
export const readTime = (text: string, zone: string, dates: DateOrder = "month-first"): number | null => {
  if (/^\d{9,10}(\.\d+)?$/.test(text)) return Math.round(Number(text) * second)
  if (/^\d{12,13}$/.test(text)) return Number(text)
  const found = (iso.exec(text) ?? dotted.exec(text) ?? slashed.exec(text))?.groups
  if (found === undefined) return null
  const [month, day] = dates === "day-first" ? [found["second"], found["first"]] : [found["first"], found["second"]]
  const year = Number(found["year"])
  const number = dayNumberOf(year, Number(found["month"] ?? month), Number(found["day"] ?? day))
  const time = timeOfDay(found["time"] ?? "", found["half"])
  if (number === null || time === null || year < 2000 || year > 2078) return null
  const wall = number * dayMillis + time
  const offset = found["zone"]?.replace(":", "")
  if (offset === undefined) return instantAt(wall, zone)
  if (!/^[+-]/.test(offset)) return wall
  const ahead = Number(offset.slice(1, 3)) * hour + Number(offset.slice(3, 5)) * minute
  return offset.startsWith("-") ? wall + ahead : wall - ahead
}

interface CsvRow {
  /** Line on which the row begins, from 1. */
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

/** Returns the separator that occurs most often in the header. */
const delimiterOf = (text: string): string => {
  const [first = ""] = text.split(/[\r\n]/, 1)
  const counts = [",", ";", "\t", "|"].map((sign) => [sign, first.split(sign).length] as const)
  return counts.toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? ","
}

/** Output of the CSV parser: each row with its position. */
const Parsed = Schema.Array(
  Schema.Struct({ record: Schema.Array(Schema.String), info: Schema.Struct({ lines: Schema.Int }) })
)

const rowsOf = (text: string): Result.Result<ReadonlyArray<CsvRow>, InvalidLog> => {
  try {
    const parsed: unknown = parse(text, {
      bom: true,
      delimiter: delimiterOf(text),
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true
    })
    // The parser returns the line on which a row ends. A row whose cells contain line breaks begins earlier.
    const linesIn = (cells: ReadonlyArray<string>) =>
      cells.reduce((sum, cell) => sum + cell.split(/\r\n|\r|\n/).length - 1, 0)
    return Result.succeed(
      Schema.decodeUnknownSync(Parsed)(parsed).map(({ info, record }) => ({
        line: info.lines - linesIn(record),
        cells: record
      }))
    )
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const line = "lines" in error ? Number(error["lines"]) : 1
    return Result.fail(new InvalidLog({ line, detail: `is not CSV: ${error.message}` }))
  }
}

const plain = (name: string): string =>
  name
    .toLowerCase()
    .trim()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "_")

/** Returns the position of each column, or the first heading in `named` that the header lacks. */
const placesIn = (header: ReadonlyArray<string>, named: LogOptions["named"]) => {
  const found = header.map(plain)
  const places: { [Name in ColumnName]?: number } = {}
  for (const name of columnNames) {
    const own = named[name]
    if (own === undefined) continue
    const place = found.indexOf(plain(own))
    if (place < 0) return own
    places[name] = place
  }
  // A heading that was named for one column is not recognized for another.
  const taken = new Set(Object.values(places))
  for (const name of columnNames) {
    if (places[name] !== undefined) continue
    const place = headings[name].map((alias) => found.indexOf(alias)).find((at) => at >= 0 && !taken.has(at))
    if (place !== undefined) places[name] = place
  }
  return places
}

/** Reads an access log, and returns its entries in order of time. Rows need not be in order. */
export const readLog = (text: string, options: LogOptions): Result.Result<ReadonlyArray<LogEntry>, InvalidLog> => {
  const { dates, named, zone } = options
  const invalid = (line: number, detail: string) => Result.fail(new InvalidLog({ line, detail }))
  const rows = rowsOf(text)
  if (Result.isFailure(rows)) return Result.fail(rows.failure)
  const [header, ...all] = rows.success
  if (header === undefined) return invalid(1, "the file is empty; expected a header and rows")
  const places = placesIn(header.cells, named)
  const found = header.cells.map((cell) => JSON.stringify(cell)).join(", ")
  if (typeof places === "string")
    return invalid(1, `column ${JSON.stringify(places)} is missing; the header has ${found}`)
  if (places.time === undefined)
    return invalid(
      1,
      `there is no time column (${headings.time.join(", ")}); name it with --columns time=HEADING. The header has ${found}`
    )
  const entries: Array<LogEntry> = []
  for (const { cells, line } of all) {
    if (cells.length !== header.cells.length)
      return invalid(line, `has ${cells.length} cells, but the header has ${header.cells.length}`)
    const cell = (name: ColumnName): string => cells[places[name] ?? -1] ?? ""
    const time = readTime(cell("time"), zone, dates)
    if (time === null) return invalid(line, `${JSON.stringify(cell("time"))} is not a time; expected ${expectedTime}`)
    entries.push({
      time,
      isCall: isCallWord(cell("kind")),
      door: cell("door"),
      person: cell("person"),
      unit: cell("unit"),
      isFromApp: isAppWord(cell("method")) && !isCardOrCode(cell("method")),
      isDenied: isDeniedWord(cell("status")),
      isDelivery: isDeliveryWord(cell("purpose")) || isDeliveryWord(cell("person"))
    })
  }
  if (entries.length === 0) return invalid(header.line, "there are no rows after the header")
  return Result.succeed(entries.toSorted((a, b) => a.time - b.time))
}
