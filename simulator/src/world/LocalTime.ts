/** Local time without a time zone: a date and a time of day. */
import { Option, Schema } from "effect"
import { dayNumberOf } from "./CalendarDate.ts"

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
/** Nominal length of a day. The real length depends on the time zone (see `LocalDay`). */
export const dayMillis = 24 * hour

/** Local time in milliseconds since 1970-01-01T00:00, as if clocks were never changed for summer time. */
export const LocalTime = Schema.Int.pipe(Schema.brand("LocalTime"))
export type LocalTime = typeof LocalTime.Type

const pattern = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2}))?)?$/

/** Description of accepted local times. */
export const expected = "a local time like 2026-03-02T00:00 or 2026-03-02, between 2001 and 2078"

/** Reads a local time; none for dates that don't exist or are outside the years that event ids cover. */
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
