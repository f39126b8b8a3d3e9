/**
 * Reads an access log in CSV: the openings of doors and the calls. The words in its cells can be of any language: common
 * English and German ones are known, others are given with `--values`. Every value, and what it was taken for, is counted,
 * as are rows that are not understood.
 */
import { isUtf8 } from "node:buffer"
import { BuildingId, TenantId } from "@doorhook/core"
import { CsvError, parse } from "csv-parse/sync"
import { Result, Schema } from "effect"
import { guid } from "../traffic/Outsiders.ts"
import { child, Rng, root } from "../random/Substream.ts"
import { dayNumberOf } from "../world/CalendarDate.ts"
import { dayMillis, hour, minute, second } from "../world/LocalTime.ts"
import { instantAt } from "../world/zones/TimeZone.ts"
import { LogCounts } from "./LogCounts.ts"
import type { PlannedEvent } from "./PlannedEvent.ts"
import { toIso } from "./PlannedEvent.ts"

/** Whether a file is an access log in CSV. Other files have lines of NDJSON. */
export const isCsv = (path: string): boolean => /\.(csv|tsv)$/i.test(path)

/** Columns of a log, with the English and German headings that are recognized for each column, in the form of `plain`. */
const headings = {
  time: "time timestamp datetime date_time logged_at at event_time datum_uhrzeit zeitstempel zeitpunkt zeit",
  kind: "kind type event event_type resource_type ereignis ereignistyp art typ",
  door: "door access_point reader panel gate location tür zutrittspunkt leser tor",
  person:
    "person name user holder cardholder credential card badge user_id inhaber karteninhaber benutzer mitarbeiter karte ausweis",
  unit: "unit flat apartment tenant company unit_label wohnung einheit mieter firma",
  method: "method entry_method how medium",
  status: "status release_status result outcome decision ergebnis",
  purpose: "purpose notification_type call_type zweck",
  building: "building building_id site gebäude objekt standort",
  id: "id event_id record_id"
} as const

export type ColumnName = keyof typeof headings
const isColumn = (name: string): name is ColumnName => Object.hasOwn(headings, name)
export const columnNames: ReadonlyArray<ColumnName> = Object.keys(headings).filter(isColumn)

/**
 * Returns a function that tests whether a text contains one of these words as a whole word. In camel case, each part is
 * a word: `accessDenied` has two.
 */
const anyWord = (words: string): ((text: string) => boolean) => {
  const whole = new RegExp(`(?<!\\p{L})(?:${words})(?!\\p{L})`, "iu")
  return (text) => whole.test(text.replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " "))
}

/** Meanings of values, each with the words of a value that has it. The first meaning with a match applies. */
const words = {
  kind: {
    denied:
      "deny|denied|denial|refused?|rejected?|invalid|fail(?:ed|ure)?|forbidden|verweiger\\p{L}*|abgelehnt|abgewiesen|ungültig|gesperrt",
    held: "held|propped|offengehalten|offen gehalten|zu lange offen",
    forced: "forced|aufgebrochen|gewaltsam\\p{L}*",
    exit: "rex|request[ _]to[ _]exit|exit button|ausgangstaster",
    call: "calls?|called|calling|rings?|rang|ringing|doorbells?|bell|intercom|klingel\\p{L}*|türruf\\p{L}*|anruf\\p{L}*|ruf",
    opening:
      "access|access_logs?|entry|enter(?:ed|ing)?|entrance|exit(?:ed)?|grant(?:ed)?|open(?:ed|ing|s)?|unlock(?:ed)?|allowed|accepted|accept|ok|valid|success\\p{L}*|releas(?:e|ed)|admitted|pass(?:ed|age)?|swipe|badge|door|zutritt\\p{L}*|zugang|eintritt|austritt|\\p{L}*öffnung(?:en)?|geöffnet|gewährt|erlaubt|freigegeben|gültig|berechtigt"
  },
  method: {
    pin: "\\p{L}*pins?|(?:pin)?codes?|keypad",
    qr: "qr(?:[ _]?code)?s?|barcodes?",
    card: "swipe(?:[ _]to[ _]open)?|mobile|bluetooth|ble|nfc|\\p{L}*cards?|\\p{L}*badges?|(?:key)?fobs?|\\p{L}*karten?|transponder|chip",
    exit: "rex|request[ _]to[ _]exit|taster|button",
    app: "apps?|remote|remotely|intercom|video|fern\\p{L}*"
  },
  purpose: {
    delivery:
      "deliver|delivered|delivery|deliveries|couriers?|parcels?|packages?|food|\\p{L}*liefer\\p{L}*|pakete?|bote|kurier",
    visitor: "visits?|visitors?|guests?|besuch\\p{L}*|gast|gäste"
  }
} as const

type Kind = keyof (typeof words)["kind"]
type Meaning = Kind | keyof (typeof words)["method"] | keyof (typeof words)["purpose"]

const isKind = (meaning: Meaning): meaning is Kind => Object.hasOwn(words.kind, meaning)

export const meaningNames: ReadonlyArray<string> = [...new Set(Object.values(words).flatMap((own) => Object.keys(own)))]
const isMeaning = (name: string): name is Meaning => meaningNames.includes(name)

const testsOf = (own: Readonly<Record<string, string>>) =>
  Object.entries(own).flatMap(([name, text]) => (isMeaning(name) ? [[name, anyWord(text)] as const] : []))

/** Columns whose values have a meaning. A status has the meanings of a kind. */
const tests = {
  kind: testsOf(words.kind),
  status: testsOf(words.kind),
  method: testsOf(words.method),
  purpose: testsOf(words.purpose)
} as const
type MeaningColumn = keyof typeof tests

/** Reads `NAME=TEXT,...`; null if a name is unknown or a text is missing. */
const pairsIn = <A>(text: string, read: (part: string) => A | null): ReadonlyArray<A> | null => {
  const all = text
    .split(",")
    .filter((own) => own.trim() !== "")
    .map(read)
  return all.every((own) => own !== null) ? all : null
}

/** Reads the value of `--columns`, such as `time=Zeit,person=Karte`; null if the text is invalid. */
export const readColumns = (text: string): LogOptions["named"] | null => {
  const pairs = pairsIn(text, (part) => {
    const at = part.indexOf("=")
    const column = part.slice(0, Math.max(0, at)).trim()
    return isColumn(column) ? ([column, part.slice(at + 1).trim()] as const) : null
  })
  return pairs === null ? null : Object.fromEntries(pairs)
}

export const valueForms = `VALUE=MEANING,... with meanings ${meaningNames.join(", ")}`

/** Reads the value of `--values`, such as `Türruf=call,Zutritt verweigert=denied`; null if the text is invalid. */
export const readValues = (text: string): LogOptions["values"] | null => {
  const pairs = pairsIn(text, (part) => {
    const at = part.lastIndexOf("=")
    const meaning = part.slice(at + 1).trim()
    return at > 0 && isMeaning(meaning) ? ([plain(part.slice(0, at)), meaning] as const) : null
  })
  return pairs === null ? null : new Map(pairs)
}

/** What happened at a door or a panel. */
export interface LogEntry {
  readonly line: number
  /** Time in the log. */
  readonly time: number
  /** Time by which the row was in the log: the latest time of the rows before it, or its own. */
  readonly at: number
  readonly kind: Kind
  readonly door: string
  readonly person: string
  readonly unit: string
  /** Meaning of the method; its own text if unknown. */
  readonly method: string
  readonly isDelivery: boolean
  readonly building: string
  /** Null if the log has no ids. */
  readonly id: string | null
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
  /** Meanings of values, in the form of `plain`. */
  readonly values: ReadonlyMap<string, Meaning>
  readonly dates: DateOrder
}

const iso =
  /^(?<year>\d{4})[-/](?<month>\d{1,2})[-/](?<day>\d{1,2})[T ]+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)\s*(?<zone>Z|UTC|[+-]\d{2}:?\d{2})?$/i
const dotted = /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4}),?\s+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)$/
const slashed =
  /^(?<first>\d{1,2})\/(?<second>\d{1,2})\/(?<year>\d{4}),?\s+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)\s*(?<half>[AP]M)?$/i

const expectedTime =
  "a time like 2026-03-02T07:30:00Z, 2026-03-02 07:30:00, 02.03.2026 07:30, 03/02/2026 07:30 AM, or seconds since 1970; two columns are joined with --columns time=DATE+TIME"

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

/**
 * Decodes the bytes of a log: as UTF-16 or UTF-8 with their byte order marks, as UTF-8, or else as Windows-1252, the
 * encoding of exports of many Windows programs.
 */
export const textOfLog = (bytes: Uint8Array): string => {
  const mark = bytes[0] === undefined || bytes[1] === undefined ? 0 : bytes[0] * 0x100 + bytes[1]
  const wide = mark === 0xff_fe ? "utf-16le" : mark === 0xfe_ff ? "utf-16be" : null
  return new TextDecoder(wide ?? (isUtf8(bytes) ? "utf-8" : "windows-1252")).decode(bytes)
}

interface CsvRow {
  /** Line on which the row begins, from 1. */
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

/** Returns the separator that occurs most often in the header. */
const delimiterOf = (header: string): string => {
  const counts = [",", ";", "\t", "|"].map((sign) => [sign, header.split(sign).length] as const)
  return counts.toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? ","
}

/** Output of the CSV parser: each row with its position. */
const Parsed = Schema.Array(
  Schema.Struct({ record: Schema.Array(Schema.String), info: Schema.Struct({ lines: Schema.Int }) })
)

const rowsOf = (text: string): Result.Result<ReadonlyArray<CsvRow>, InvalidLog> => {
  const [first = ""] = text.split(/[\r\n]/, 1)
  // The line with which spreadsheets say what separates the cells.
  const said = /^\ufeff?sep=(.)$/i.exec(first)?.[1]
  try {
    const parsed: unknown = parse(text, {
      bom: true,
      delimiter: said ?? delimiterOf(first),
      from_line: said === undefined ? 1 : 2,
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

/** Positions of the cells that make up a column: several if headings were joined with `+`. */
type Places = { [Name in ColumnName]?: ReadonlyArray<number> }

/**
 * Returns the positions of each column, or the first heading in `named` that the header lacks. A heading that was named
 * for another column is not recognized, unless it says what kind of event a row is.
 */
const placesIn = (header: ReadonlyArray<string>, named: LogOptions["named"]): Places | string => {
  const found = header.map(plain)
  const places: Places = {}
  for (const name of columnNames) {
    const own = named[name]
    if (own === undefined) continue
    const parts = found.includes(plain(own)) ? [own] : own.split("+")
    const missing = parts.find((part) => !found.includes(plain(part)))
    if (missing !== undefined) return missing
    places[name] = parts.map((part) => found.indexOf(plain(part)))
  }
  const { status = [], ...others } = places
  const taken = new Set(Object.values(others).flat())
  for (const name of columnNames) {
    if (places[name] !== undefined) continue
    const isFree = (at: number) => at >= 0 && !taken.has(at) && (name === "kind" || !status.includes(at))
    const place = headings[name]
      .split(" ")
      .map((alias) => found.indexOf(alias))
      .find(isFree)
    if (place !== undefined) places[name] = [place]
  }
  return places
}

/** Reads the rows of a log, and counts what their cells were taken for. */
class RowReader {
  readonly counts = new LogCounts()
  readonly #options: LogOptions
  readonly #places: Places
  readonly #width: number

  constructor(options: LogOptions, places: Places, width: number) {
    this.#options = options
    this.#places = places
    this.#width = width
  }

  /** Returns the text of a column; empty if the log has no such column. */
  #cell(column: ColumnName, cells: ReadonlyArray<string>): string {
    const texts = this.#places[column]?.map((place) => cells[place] ?? "") ?? []
    return texts.filter((text) => text !== "").join(" ")
  }

  /** Returns what a value means in a column; null if that is unknown or the cell is empty. */
  #meaning(column: MeaningColumn, cells: ReadonlyArray<string>): Meaning | null {
    const value = this.#cell(column, cells)
    if (value === "") return null
    const meaning = this.#options.values.get(plain(value)) ?? tests[column].find(([, isIn]) => isIn(value))?.[0] ?? null
    this.counts.value(column, value, meaning)
    return meaning
  }

  /** Reads a row, or returns why it is not understood. */
  read({ cells, line }: CsvRow): Omit<LogEntry, "at"> | string {
    const cell = (name: ColumnName): string => this.#cell(name, cells)
    if (cells.length !== this.#width) return `has ${cells.length} cells, but the header has ${this.#width}`
    const time = readTime(cell("time"), this.#options.zone, this.#options.dates)
    if (time === null) return `${JSON.stringify(cell("time"))} is not a time; expected ${expectedTime}`
    const [kind, status] = [this.#meaning("kind", cells), this.#meaning("status", cells)]
    const method = this.#meaning("method", cells)
    const isDelivery = this.#meaning("purpose", cells) === "delivery" || tests.purpose[0]?.[1](cell("person")) === true
    const known = kind === "call" ? kind : status === null || status === "opening" ? (kind ?? status) : status
    const unknown = (["kind", "status"] as const).find(
      (name) => cell(name) !== "" && (name === "kind" ? kind : status) === null
    )
    if (unknown !== undefined && (known === null || unknown === "status"))
      return `${JSON.stringify(cell(unknown))} is not known as a ${unknown}; give its meaning with --values '${cell(unknown)}=MEANING'`
    const own = known ?? (method === "exit" ? "exit" : "opening")
    return {
      line,
      time,
      kind: isKind(own) ? own : "opening",
      door: cell("door"),
      person: cell("person"),
      unit: cell("unit"),
      method: method ?? cell("method"),
      isDelivery,
      building: cell("building"),
      id: this.#places.id === undefined ? null : cell("id")
    }
  }
}

/** Share of rows out of order above which the order of the file says nothing about when its rows were uploaded. */
const mostDisorder = 0.2

const disorderOf = (entries: ReadonlyArray<Omit<LogEntry, "at">>): number => {
  let latest = Number.NEGATIVE_INFINITY
  return entries.filter(({ time }) => {
    const isEarlier = time < latest
    latest = Math.max(latest, time)
    return isEarlier
  }).length
}

/** Reads an access log: its entries in the order in which they came, and what was counted on the way. */
export const readLog = (text: string, options: LogOptions): Result.Result<AccessLog, InvalidLog> => {
  const invalid = (line: number, detail: string) => Result.fail(new InvalidLog({ line, detail }))
  const rows = rowsOf(text)
  if (Result.isFailure(rows)) return Result.fail(rows.failure)
  const [header, ...all] = rows.success
  if (header === undefined) return invalid(1, "the file is empty; expected a header and rows")
  const places = placesIn(header.cells, options.named)
  const found = header.cells.map((cell) => JSON.stringify(cell)).join(", ")
  if (typeof places === "string")
    return invalid(1, `column ${JSON.stringify(places)} is missing; the header has ${found}`)
  if (places.time === undefined)
    return invalid(
      1,
      `there is no time column (${headings.time.replaceAll(" ", ", ")}); name it with --columns time=HEADING, or two columns with time=DATE+TIME. The header has ${found}`
    )
  const reader = new RowReader(options, places, header.cells.length)
  const { counts } = reader
  const read: Array<Omit<LogEntry, "at">> = []
  for (const row of all) {
    const entry = reader.read(row)
    if (typeof entry === "string") counts.notUnderstood(row.line, entry)
    else {
      read.push(entry)
      counts.content(row.cells.join("\u0000"))
    }
  }
  const [first] = counts.problems
  if (first !== undefined && counts.problemCount >= all.length / 2) return invalid(first.line, first.detail)
  if (read.length === 0) return invalid(header.line, "there are no rows after the header")
  // Many systems export the newest rows first.
  const reversed = read.toReversed()
  const inOrder = disorderOf(reversed) < disorderOf(read) ? reversed : read
  counts.isSorted = disorderOf(inOrder) > mostDisorder * read.length
  const sorted = counts.isSorted ? inOrder.toSorted((a, b) => a.time - b.time) : inOrder
  let latest = Number.NEGATIVE_INFINITY
  const entries = sorted.map((entry): LogEntry => {
    counts.time(entry.time, latest)
    latest = Math.max(latest, entry.time)
    return { ...entry, at: latest }
  })
  return Result.succeed({ entries, counts })
}

export interface AccessLog {
  readonly entries: ReadonlyArray<LogEntry>
  readonly counts: LogCounts
}

const entryMethods: Readonly<Record<string, string>> = { card: "swipe_to_open", qr: "qr_code", exit: "request_to_exit" }
const statuses: Readonly<Record<string, string>> = { denied: "Denied", held: "Held open", forced: "Forced" }

/** Returns a function that returns the number of a text: the text itself if it is a number, else counted from `first`. */
const numbering = (first: number): ((text: string) => number) => {
  const known = new Map<string, number>()
  return (text) => {
    if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
    const number = known.get(text) ?? first + known.size
    known.set(text, number)
    return number
  }
}

/**
 * Makes the events of an access log. Buildings and doors that are not numbers are numbered by their first appearance. So
 * are tenants: the units, or the people of a log without units.
 */
export const eventsOf = ({ entries }: Pick<AccessLog, "entries">): ReadonlyArray<PlannedEvent> => {
  const [buildingOf, doorOf, tenantOf, idOf] = [numbering(1), numbering(1), numbering(1_001), numbering(1)]
  const rng = new Rng(child(root("access log"), "calls"))
  const hasUnits = entries.some(({ unit }) => unit !== "")
  return entries.map((entry): PlannedEvent => {
    const { at, building, door, isDelivery, kind, line, method, person, time, unit } = entry
    const holder = hasUnits ? unit : person
    const tenant = holder === "" || isDelivery ? null : TenantId.make(tenantOf(`${building} ${holder}`))
    const common = {
      at: toIso(at),
      building_id: BuildingId.make(building === "" ? 1 : buildingOf(building)),
      tenant_ids: tenant === null ? [] : [tenant],
      action: "create"
    } as const
    const data = { id: entry.id === null ? line : idOf(entry.id), logged_at: toIso(time), image_url: null }
    if (kind !== "call") {
      const entry_method =
        kind === "exit" ? "request_to_exit" : (entryMethods[method] ?? (method === "" ? "none" : method))
      const release_status = statuses[kind] ?? "Unlocked"
      const own = { access_point: doorOf(door), entry_method, release_status, name: person === "" ? "Unknown" : person }
      return { ...common, resource_type: "access_log", data: { ...data, ...own } }
    }
    return {
      ...common,
      resource_type: "call",
      data: {
        ...data,
        guid: guid(rng),
        status: "initializing",
        notification_type: isDelivery ? "delivery" : "visitor",
        unit: tenant === null ? null : { id: tenant, label: unit },
        panel: { id: doorOf(door), name: door }
      }
    }
  })
}
