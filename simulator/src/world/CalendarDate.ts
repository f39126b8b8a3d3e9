/**
 * Gregorian dates as day numbers (days since 1970-01-01). Also holidays, and seasons with more or less traffic.
 * ECMAScript specifies `Date.UTC` exactly, so results are the same everywhere.
 */
const dayMillis = 86_400_000

/** Returns year, month (1 is January) and day of a day number. */
export const dateOf = (number: number) => {
  const date = new Date(number * dayMillis)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** Returns the day number of a date; null if the date doesn't exist. */
export const dayNumberOf = (year: number, month: number, day: number): number | null => {
  const instant = Date.UTC(year, month - 1, day)
  const date = new Date(instant)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? instant / dayMillis : null
}

/** Returns the weekday of a day number; 0 is Sunday. */
export const weekdayOf = (number: number): number => (((number + 4) % 7) + 7) % 7

/** Whether a weekday is on the weekend. */
export const isWeekend = (weekday: number): boolean => weekday === 0 || weekday === 6

/** Formats a day number as `2026-03-02`. */
export const formatDay = (number: number): string => new Date(number * dayMillis).toISOString().slice(0, 10)

/** Parses `2026-03-02` into a day number; null if there is no such date. */
export const parseDay = (text: string): number | null => {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return null
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number)
  return dayNumberOf(year, month, day)
}

/** Holidays: single ones as day numbers, yearly ones as month * 100 + day. */
export interface Calendar {
  readonly dates: ReadonlySet<number>
  readonly yearly: ReadonlySet<number>
}

export const noHolidays: Calendar = { dates: new Set(), yearly: new Set() }

const monthDayOf = (number: number): number => {
  const { month, day } = dateOf(number)
  return month * 100 + day
}

/** Returns the effective weekday: a holiday counts as a Sunday, which is 0. */
export const keptWeekday = ({ dates, yearly }: Calendar, number: number): number =>
  dates.has(number) || (yearly.size > 0 && yearly.has(monthDayOf(number))) ? 0 : weekdayOf(number)

/**
 * A part of every year with `factor` times the arrivals. `from` and `to` are month * 100 + day, both included. Can span
 * the new year.
 */
export interface Season {
  readonly from: number
  readonly to: number
  readonly factor: number
}

/** Returns the product of the factors of all seasons on a day. */
export const seasonFactor = (seasons: ReadonlyArray<Season>, number: number): number => {
  if (seasons.length === 0) return 1
  const at = monthDayOf(number)
  const isIn = ({ from, to }: Season) => (from <= to ? at >= from && at <= to : at >= from || at <= to)
  return seasons.reduce((factor, season) => (isIn(season) ? factor * season.factor : factor), 1)
}
