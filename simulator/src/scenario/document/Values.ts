/**
 * The kinds of values that scenario files are made of, as they are written, and what they mean.
 *
 * A document is checked in the form in which it is written, so that its JSON Schema says all that is checked; the
 * functions here turn checked values into what flows are made of.
 */
import { DurationText } from "@doorhook/core"
import { Option, Schema } from "effect"
import type { Lognormal } from "../../random/Distribution.ts"
import type { DayShape } from "../../traffic/DayShape.ts"
import type { ByWeekday } from "../../traffic/Flow.ts"
import type { ClockTime } from "../../traffic/Members.ts"
import { longestWait } from "../../traffic/Visit.ts"
import { parseDay } from "../../world/CalendarDate.ts"
import type { Season } from "../../world/Calendar.ts"
import { hour, minute } from "../../world/LocalTime.ts"

const durationPattern = /^\d{1,12}(\.\d{1,3})?(ms|s|m|h|d)$/
const clockPattern = /^(([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?|24:00)$/
const datePattern = /^(\d{4}-)?(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/
const monthDayPattern = /^(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/

/** Whether a duration is no longer than so many milliseconds: what JSON Schema has no words for. */
const isAtMost = (most: number) =>
  Schema.makeFilter((text: string) => {
    const read = DurationText.parse(text)
    const isThat = Option.isSome(read) && read.value <= most
    return isThat || !durationPattern.test(text) || `must be a duration of at most ${DurationText.format(most)}`
  })

// What a parameter is annotated with goes to its last condition, which has to be one that JSON Schema has.
const isDuration = Schema.isPattern(durationPattern, { message: `must be ${DurationText.expected}` })
export const Duration = Schema.String.check(isAtMost(DurationText.longest), isDuration)
/** Of what somebody waits for at a door, or a device puts off: a plan does not look back for longer. */
export const ShortDuration = Schema.String.check(isAtMost(longestWait), isDuration)
export const Clock = Schema.String.check(
  Schema.isPattern(clockPattern, { message: "must be a clock time like 08:30 or 17:45:30" })
)
/** From one to the next of what happens again and again; 0s is never. */
export const Interval = Duration.check(
  Schema.makeFilter((text: string) => {
    const millis = millisOf(text)
    return millis === 0 || millis >= minute || "must be 0s, for never, or at least 1m"
  })
)
/** Whether there is such a day: of the year that is named, or of any. What JSON Schema has no words for. */
const exists = Schema.makeFilter((text: string) => {
  const isThere = parseDay(text.length === "12-25".length ? `2000-${text}` : text) !== null
  return isThere || !datePattern.test(text) || "must be a day that the calendar has"
})

/** A day of one year, or of every year. */
export const HolidayDate = Schema.String.check(
  Schema.isPattern(datePattern, { message: "must be a date like 2026-12-25, or 12-25 for every year" }),
  exists
)
const MonthDay = Schema.String.check(
  Schema.isPattern(monthDayPattern, { message: "must be a day of the year like 12-25" }),
  exists
)
export const Share = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 1 }, { message: "must be a number from 0 to 1" })
)
/** Below 1, so that groups end. */
export const GroupShare = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 0.9 }, { message: "must be a number from 0 to 0.9" })
)
export const NotNegative = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 1e6 }, { message: "must be a number from 0 to 1000000" })
)
/** How often something happens: to somebody in a day, in a building in a month. */
export const Rate = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 1_000 }, { message: "must be a number from 0 to 1000" })
)
/** How many times as often. */
const Factor = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 100 }, { message: "must be a number from 0 to 100" })
)
const Sigma = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 3 }, { message: "must be a number from 0 to 3" })
)
export const wholeBetween = (minimum: number, maximum: number) =>
  Schema.Int.check(
    Schema.isBetween({ minimum, maximum }, { message: `must be a whole number from ${minimum} to ${maximum}` })
  )

export const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const

const week = <S extends Schema.Top>(value: S) => ({
  mon: Schema.optionalKey(value),
  tue: Schema.optionalKey(value),
  wed: Schema.optionalKey(value),
  thu: Schema.optionalKey(value),
  fri: Schema.optionalKey(value),
  sat: Schema.optionalKey(value),
  sun: Schema.optionalKey(value)
})

/** A probability for each day of the week; days that are left out keep their default. */
export const WeekOfShares = Schema.Struct(week(Share))
/** A number for each day of the week; days that are left out keep their default. */
export const WeekOfNumbers = Schema.Struct(week(Factor))

/** A normally distributed clock time: its mean and standard deviation. */
export const ClockTimeValue = Schema.Struct({
  at: Schema.optionalKey(Clock),
  spread: Schema.optionalKey(Duration)
})

/** A lognormal duration: its median and the standard deviation of its logarithm. */
export const LognormalValue = Schema.Struct({
  median: Schema.optionalKey(Duration),
  sigma: Schema.optionalKey(Sigma)
})

/** The same of what somebody waits for at a door. */
export const ShortLognormalValue = Schema.Struct({
  median: Schema.optionalKey(ShortDuration),
  sigma: Schema.optionalKey(Sigma)
})

/** How arrivals spread over a day; weights are relative to each other. */
export const DayShapeValue = Schema.Struct({
  from: Clock,
  to: Clock,
  even: NotNegative,
  peaks: Schema.Array(Schema.Struct({ at: Clock, spread: Duration, weight: NotNegative })).check(Schema.isMaxLength(8))
})

export const SeasonValue = Schema.Struct({ from: MonthDay, to: MonthDay, factor: Factor })

export type Week = Partial<Readonly<Record<(typeof weekdays)[number], number>>>
export type FullWeek = Required<Week>
export type FullClockTime = Required<typeof ClockTimeValue.Type>
export type FullLognormal = Required<typeof LognormalValue.Type>

/** Milliseconds of a duration that was checked. */
export const millisOf = (text: string): number => Option.getOrElse(DurationText.parse(text), () => 0)

/** Hours of a clock time that was checked. */
const hoursOf = (text: string): number => {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number)
  return hours + minutes / 60 + seconds / 3_600
}

export const byWeekday = ({ sun, mon, tue, wed, thu, fri, sat }: FullWeek): ByWeekday => [
  sun,
  mon,
  tue,
  wed,
  thu,
  fri,
  sat
]

export const clockTimeOf = ({ at, spread }: FullClockTime): ClockTime => ({
  at: hoursOf(at),
  spread: millisOf(spread) / hour
})

/** A lognormal duration in a unit of so many milliseconds. */
export const lognormalOf = ({ median, sigma }: FullLognormal, unit: number): Lognormal => ({
  median: millisOf(median) / unit,
  sigma
})

export const shapeOf = ({ from, to, even, peaks }: typeof DayShapeValue.Type): DayShape => ({
  from: hoursOf(from),
  to: hoursOf(to),
  even,
  peaks: peaks.map(({ at, spread, weight }) => ({ at: hoursOf(at), spread: millisOf(spread) / hour, weight }))
})

/** Month * 100 + day. */
export const monthDayNumber = (text: string): number => {
  const [month = 0, day = 0] = text.split("-").map(Number)
  return month * 100 + day
}

export const seasonOf = ({ from, to, factor }: typeof SeasonValue.Type): Season => ({
  from: monthDayNumber(from),
  to: monthDayNumber(to),
  factor
})

/** Hours as a clock time to the second, within the day. */
export const clockText = (hours: number): string => {
  const seconds = Math.max(0, Math.min(86_399, Math.floor(hours * 3_600 + 0.5)))
  const two = (number: number) => `${number}`.padStart(2, "0")
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return `${two(h)}:${two(m)}${s === 0 ? "" : `:${two(s)}`}`
}

/** Milliseconds as a duration, to the tenth of a second, or of a minute from an hour on. */
export const durationText = (millis: number): string =>
  millis >= hour
    ? `${Math.round(millis / 6_000) / 10}m`
    : millis >= 10 * minute
      ? `${Math.round(millis / 1_000)}s`
      : `${Math.round(millis / 100) / 10}s`
