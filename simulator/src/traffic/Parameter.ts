/**
 * Parameters of a scenario, each with its form, its default and the source of the default. Decoding a scenario file
 * converts durations to milliseconds and times of day to hours.
 */
import { DurationText } from "@doorhook/core"
import { Effect, Option, Schema, SchemaGetter, SchemaTransformation } from "effect"
import { hour, minute } from "../world/LocalTime.ts"
import { parseDay } from "../world/CalendarDate.ts"

/** Key in the JSON Schema for the source of a default. */
export const sourceKey = "x-source"

/** Source for defaults without published figures. */
export const assumed = "assumed; no public figures exist"

/** Limits of values, added to the JSON Schema because it lacks the checks on decoded values. */
const limits = new WeakMap<Schema.Top, object>()

const kind = <S extends Schema.Top>(schema: S, own: object): S => {
  limits.set(schema, own)
  return schema
}

/** Makes a parameter: an optional member with a default, a description and the source of the default. */
export const parameter = <S extends Schema.Top>(
  schema: S,
  usual: S["Encoded"],
  description: string,
  source: string = assumed
): Schema.withDecodingDefaultKey<S> => {
  const encoded: Schema.toEncoded<S> = Schema.toEncoded(schema)
  const annotated = encoded.annotate({ description, default: usual, [sourceKey]: source, ...limits.get(schema) })
  return Schema.optionalKey(annotated).pipe(
    Schema.decodeTo(schema, {
      decode: SchemaGetter.withDefault(Effect.succeed(usual)),
      encode: SchemaGetter.passthrough()
    })
  )
}

/** Makes an optional member within a parameter. */
export const usually = <S extends Schema.Top>(schema: S, usual: S["Encoded"]): Schema.withDecodingDefaultKey<S> =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(usual)))

const numberFrom = (minimum: number, maximum: number) =>
  kind(
    Schema.Finite.check(
      Schema.isBetween({ minimum, maximum }, { message: `must be a number from ${minimum} to ${maximum}` })
    ),
    { minimum, maximum }
  )

export const wholeBetween = (minimum: number, maximum: number) =>
  kind(
    Schema.Int.check(
      Schema.isBetween({ minimum, maximum }, { message: `must be a whole number from ${minimum} to ${maximum}` })
    ),
    { type: "integer", minimum, maximum }
  )

export const Share = numberFrom(0, 1)
/** Share below 1, so that groups and sequences of denied attempts end. */
export const GroupShare = numberFrom(0, 0.9)
/** Frequency: per person and day, or per building and month. */
export const Rate = numberFrom(0, 1_000)
const Weight = numberFrom(0, 1e6)
const Factor = numberFrom(0, 100)

/** Makes a schema that decodes text of a given form to a number. */
const textOf = (
  pattern: RegExp,
  expected: string,
  read: (text: string) => number,
  write: (value: number) => string,
  refuse: (value: number) => string | null = () => null
) =>
  kind(
    Schema.String.check(
      Schema.isPattern(pattern, { message: expected }),
      Schema.makeFilter((text: string) => (pattern.test(text) ? (refuse(read(text)) ?? true) : true))
    ).pipe(Schema.decodeTo(Schema.Number, SchemaTransformation.transform({ decode: read, encode: write }))),
    { pattern: pattern.source }
  )

const durationUpTo = (most: number, refuse: (millis: number) => string | null = () => null) =>
  textOf(
    /^\d{1,12}(\.\d{1,3})?(ms|s|m|h|d)$/,
    `must be ${DurationText.expected}`,
    (text) => Option.getOrElse(DurationText.parse(text), () => Infinity),
    DurationText.format,
    (millis) => (millis <= most ? refuse(millis) : `must be a duration of at most ${DurationText.format(most)}`)
  )

/**
 * Maximum wait at a door, and maximum delay by a device, in milliseconds. For longer waits, plans don't start
 * generating early enough.
 */
export const longestWait = hour

/** Durations in milliseconds. */
export const Duration = durationUpTo(DurationText.longest)
export const ShortDuration = durationUpTo(longestWait)
/** Time between repeated events; 0s for never. */
export const Interval = durationUpTo(DurationText.longest, (millis) =>
  millis === 0 || millis >= minute ? null : "must be 0s, for never, or at least 1m"
)

const hoursOf = (text: string): number => {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number)
  return hours + minutes / 60 + seconds / 3_600
}

/** Formats a time of day, given in hours, to the second. */
const clockText = (hours: number): string => {
  const seconds = Math.max(0, Math.min(86_399, Math.floor(hours * 3_600 + 0.5)))
  const two = (number: number) => `${number}`.padStart(2, "0")
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return `${two(h)}:${two(m)}${s === 0 ? "" : `:${two(s)}`}`
}

/** Time of day, in hours. */
export const Clock = textOf(
  /^(([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?|24:00)$/,
  "must be a clock time like 08:30 or 17:45:30",
  hoursOf,
  clockText
)
/** Time of day, in hours, which can be after midnight: `25:30` is half past one of the next day. */
export const LateClock = textOf(
  /^(([01]\d|2[0-9]):[0-5]\d(:[0-5]\d)?)$/,
  "must be a clock time like 17:45:30, or 25:30 for half past one of the next day",
  hoursOf,
  clockText
)
/** Duration in hours. */
export const Hours = kind(
  Duration.pipe(
    Schema.decodeTo(
      Schema.Number,
      SchemaTransformation.transform({
        decode: (millis: number) => millis / hour,
        encode: (hours: number) => hours * hour
      })
    )
  ),
  { pattern: "^\\d{1,12}(\\.\\d{1,3})?(ms|s|m|h|d)$" }
)

const noSuchDay = "must be an existing day of the calendar"

/** Reads a text like `12-25` as month * 100 + day. */
export const monthDayOf = (text: string): number => {
  const [month = 0, day = 0] = text.split("-").map(Number)
  return month * 100 + day
}

const MonthDay = textOf(
  /^(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/,
  "must be a day of the year like 12-25",
  monthDayOf,
  (value) => `${Math.floor(value / 100)}-${value % 100}`,
  (value) =>
    parseDay(`2000-${`${Math.floor(value / 100)}`.padStart(2, "0")}-${`${value % 100}`.padStart(2, "0")}`) === null
      ? noSuchDay
      : null
)

/** Day of one year, or of every year. */
export const HolidayDate = Schema.String.check(
  Schema.isPattern(/^(\d{4}-)?(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, {
    message: "must be a date like 2026-12-25, or 12-25 for every year"
  }),
  Schema.makeFilter((text: string) => parseDay(text.length === 5 ? `2000-${text}` : text) !== null || noSuchDay)
)

/** One number for each day of the week, Sunday first. */
export type ByWeekday = readonly [number, number, number, number, number, number, number]
export type Week = Readonly<Record<"sun" | "mon" | "tue" | "wed" | "thu" | "fri" | "sat", number>>

const weekOf = (value: typeof Share, { fri, mon, sat, sun, thu, tue, wed }: Week) => {
  const day = (usual: number) => usually(value, usual)
  const given = {
    mon: day(mon),
    tue: day(tue),
    wed: day(wed),
    thu: day(thu),
    fri: day(fri),
    sat: day(sat),
    sun: day(sun)
  }
  const Numbers = Schema.Tuple([value, value, value, value, value, value, value])
  return Schema.Struct(given).pipe(
    Schema.decodeTo(
      Schema.toType(Numbers),
      SchemaTransformation.transform({
        decode: (week: Week): ByWeekday => [week.sun, week.mon, week.tue, week.wed, week.thu, week.fri, week.sat],
        encode: ([sun, mon, tue, wed, thu, fri, sat]: ByWeekday): Week => ({ sun, mon, tue, wed, thu, fri, sat })
      })
    )
  )
}

/** Makes a parameter with a number for each day of the week. Omitted days keep their default. */
export const sharesByWeekday = (usual: Week, description: string, source?: string) =>
  parameter(weekOf(Share, usual), usual, description, source)
export const factorsByWeekday = (usual: Week, description: string, source?: string) =>
  parameter(weekOf(Factor, usual), usual, description, source)

/** Normal distribution of a time of day: mean and standard deviation, in hours. */
export interface ClockTime {
  readonly at: number
  readonly spread: number
}

export const clockTime = (at: string, spread: string, description: string, source?: string) =>
  parameter(
    Schema.Struct({ at: usually(LateClock, at), spread: usually(Hours, spread) }),
    { at, spread },
    description,
    source
  )

/** Makes a parameter for a lognormal duration: its median, and the standard deviation of its logarithm. */
export const lognormalOf = (
  value: typeof Duration,
  usual: { readonly median: string; readonly sigma: number },
  description: string,
  source?: string
) =>
  parameter(
    Schema.Struct({ median: usually(value, usual.median), sigma: usually(numberFrom(0, 3), usual.sigma) }),
    usual,
    description,
    source
  )

export const SeasonValue = Schema.Struct({ from: MonthDay, to: MonthDay, factor: Factor })

/** Distribution of arrivals over a day. Times of day are in hours, and weights are relative to each other. */
export const DayShapeFields = Schema.Struct({
  from: Clock,
  to: Clock,
  even: Weight,
  peaks: Schema.Array(Schema.Struct({ at: Clock, spread: Hours, weight: Weight })).check(Schema.isMaxLength(8))
})
export type DayShape = typeof DayShapeFields.Type
