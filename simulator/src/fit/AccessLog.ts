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
import type { DateOrder } from "./LogTime.ts"
import { expectedTime, hasOrder, ordersOf, readTime } from "./LogTime.ts"
import { strays } from "./Strays.ts"
import { anyWord } from "./Words.ts"

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
  /** What was assumed or left out, in sentences. */
  readonly notes: ReadonlyArray<string>
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
  /** What comes first in dates with slashes; null to tell it from all of them. */
  readonly dates: DateOrder | null
}

const isCallWord = anyWord(
  "calls?|called|calling|rings?|rang|ringing|doorbells?|bell|intercom|klingel\\p{L}*|anruf\\p{L}*"
)
const isDeniedWord = anyWord(
  "deny|denied|denial|refus\\p{L}*|reject\\p{L}*|invalid|fail|failed|failure|forbid\\p{L}*|abgelehnt|verweigert"
)
const isDeliveryWord = anyWord(
  "deliver|delivered|delivery|deliveries|couriers?|parcels?|packages?|food|liefer\\p{L}*|\\p{L}+lieferung|paket\\p{L}*"
)

const isSwipe = anyWord("swipe|mobile|bluetooth|ble|nfc|\\p{L}*cards?|\\p{L}*badges?|(?:key)?fobs?")
const isQrCode = anyWord("qr(?:code)?s?|barcodes?")
const isPin = anyWord("pins?|(?:pin)?codes?|keypad")
const isApp = anyWord("apps?|remote|remotely|intercom|video")

const methodOf = (text: string): LogEntry["method"] => {
  if (isSwipe(text)) return "swipe_to_open"
  if (isQrCode(text)) return "qr_code"
  if (isPin(text)) return "pin"
  return isApp(text) ? "app" : ""
}

/** As many lines as somebody looks up. */
const namedLines = 5

const linesText = (lines: ReadonlyArray<number>): string =>
  `${lines.length === 1 ? "line" : "lines"} ${lines.slice(0, namedLines).join(", ")}${lines.length > namedLines ? ` and ${lines.length - namedLines} more` : ""}`

const assumed =
  "the dates fit both month/day and day/month: month/day was assumed; --dates day-first reads them the other way"

/** Reads an access log. Rows need not be in order. */
export const readLog = (
  text: string,
  { dates, delimiter, named, zone }: LogOptions
): Result.Result<AccessLog, InvalidLog> => {
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
  const all = [...rows]
  const { time: timePlace } = places
  const times = all.map(({ cells }) => cells[timePlace] ?? "")
  const orders = dates === null ? ordersOf(times) : [dates]
  const only = (order: DateOrder) => all.find((_, at) => ordersOf([times[at] ?? ""]).join() === order)
  const [dayFirst, monthFirst] = orders.length > 0 ? [] : [only("day-first"), only("month-first")]
  if (dayFirst !== undefined && monthFirst !== undefined) {
    const [day, month] = [dayFirst, monthFirst].map(({ cells }) => JSON.stringify(cells[timePlace]))
    return invalid(
      dayFirst.line,
      `${day} is day/month, and ${month} in line ${monthFirst.line} is month/day; expected all dates in one order`
    )
  }
  const notes = orders.length > 1 && times.some(hasOrder) ? [assumed] : []
  const entries: Array<LogEntry & { readonly line: number }> = []
  for (const { cells, line } of all) {
    const cell = (name: ColumnName): string => (places[name] === undefined ? "" : (cells[places[name]] ?? ""))
    if (cells.length !== header.value.cells.length) {
      return invalid(line, `has ${cells.length} cells, the header has ${header.value.cells.length}`)
    }
    const time = readTime(cell("time"), zone, orders[0])
    if (time === null) return invalid(line, `${JSON.stringify(cell("time"))} is no time; expected ${expectedTime}`)
    const day = dayNumberAt(time, zone)
    entries.push({
      line,
      time,
      day,
      clock: (time + offsetAt(time, zone) - day * dayMillis) / hour,
      isCall: isCallWord(cell("kind")),
      door: cell("door"),
      person: cell("person"),
      unit: cell("unit"),
      method: methodOf(cell("method")),
      isDenied: isDeniedWord(cell("status")),
      isDelivery: isDeliveryWord(cell("purpose")) || isDeliveryWord(cell("person"))
    })
  }
  if (entries.length === 0) return invalid(header.value.line, "there are no rows after the header")
  const { far, near } = strays(entries.toSorted((a, b) => a.time - b.time))
  const leftOut = far.map(({ line }) => line).toSorted((a, b) => a - b)
  return Result.succeed({
    entries: near,
    zone,
    notes: leftOut.length === 0 ? notes : [...notes, `${linesText(leftOut)} left out: months away from all the others`],
    has: new Set(columnNames.filter((name) => places[name] !== undefined))
  })
}
