/**
 * What a clock on the wall shows, without saying where the wall is: a date and a time of day.
 */
import { Option, Schema } from "effect"
import { dayNumberOf } from "./CalendarDate.ts"

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
/** A day of the calendar; how long it lasts in a time zone is another matter (see `LocalDay`). */
export const dayMillis = 24 * hour

/** Milliseconds from 1970-01-01T00:00 to the reading, on a clock that is never put forward or back. */
export const LocalTime = Schema.Int.pipe(Schema.brand("LocalTime"))
export type LocalTime = typeof LocalTime.Type

const pattern = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2}))?)?$/

/** What is accepted as a local time. */
export const expected = "a local time like 2026-03-02T00:00 or 2026-03-02, between 2001 and 2078"

/** Reads a local time; none for dates that do not exist, and outside the years that event ids have room for. */
export const parse = (text: string): Option.Option<LocalTime> => {
  const match = pattern.exec(text.trim())
  if (match === null) return Option.none()
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = match
    .slice(1)
    .map((part) => Number(part ?? "0"))
  const number = dayNumberOf(year, month, day)
  if (number === null || year < 2001 || year > 2078 || hours > 23 || minutes > 59 || seconds > 59) return Option.none()
  return Option.some(LocalTime.make(number * dayMillis + hours * hour + minutes * minute + seconds * second))
}
