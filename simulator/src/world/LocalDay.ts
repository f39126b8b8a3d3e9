/**
 * One calendar day in one time zone: its start and length, and conversion of its times of day.
 *
 * People follow local time, so rates are given in local time, but events need instants. A day with a clock change is
 * not 24 hours long: a skipped hour has no events, and a repeated hour has twice as many.
 */
import { weekdayOf } from "./CalendarDate.ts"
import type { LocalTime } from "./LocalTime.ts"
import { dayMillis, minute } from "./LocalTime.ts"
import { changeBetween, instantAt, offsetAt } from "./zones/TimeZone.ts"

export interface LocalDay {
  /** Calendar days since 1970-01-01. */
  readonly number: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** First instant, in milliseconds since the epoch. */
  readonly start: number
  /** Length in milliseconds. */
  readonly length: number
  /** How far local time is ahead of UTC before the change, in milliseconds. */
  readonly offset: number
  /** Clock change within the day; null on most days. */
  readonly change: { readonly at: number; readonly offset: number } | null
}

/**
 * Converts local time in a zone to milliseconds since the epoch. For a time that occurs twice, returns the first
 * instant. A skipped time is moved past the gap: 2:30 becomes 3:30.
 */
export const instantOf = (time: LocalTime | number, zone: string): number => instantAt(time, zone)

/** Returns the day number of an instant. */
export const dayNumberAt = (instant: number, zone: string): number =>
  Math.floor((instant + offsetAt(instant, zone)) / dayMillis)

/** Returns the day number of an instant and the minute of the day in local time, 0 to 1439. */
export const momentAt = (instant: number, zone: string) => {
  const wall = instant + offsetAt(instant, zone)
  const day = Math.floor(wall / dayMillis)
  return { day, minute: Math.floor((wall - day * dayMillis) / minute) }
}

/** Returns the hour of the day in local time at an instant, 0 to 23. */
export const hourAt = (instant: number, zone: string): number => Math.floor(momentAt(instant, zone).minute / 60)

export const makeLocalDay = (number: number, zone: string): LocalDay => {
  const start = instantOf(number * dayMillis, zone)
  const end = instantOf((number + 1) * dayMillis, zone)
  return {
    number,
    weekday: weekdayOf(number),
    start,
    length: end - start,
    offset: offsetAt(start, zone),
    change: changeBetween(start, end, zone)
  }
}

/** Number of days kept in memory, enough for the days around one date in a few zones. */
const keptDays = 64

/**
 * Returns a function that makes days and caches the latest ones, because all flows of a building need the same day and
 * finding a clock change takes time.
 */
export const dayMaker = (): ((number: number, zone: string) => LocalDay) => {
  const kept = new Map<string, LocalDay>()
  return (number, zone) => {
    const key = `${number} ${zone}`
    const known = kept.get(key)
    if (known !== undefined) return known
    const day = makeLocalDay(number, zone)
    const [oldest] = kept.keys()
    if (kept.size >= keptDays && oldest !== undefined) kept.delete(oldest)
    kept.set(key, day)
    return day
  }
}

/** Returns the local time of day, in milliseconds, once `elapsed` milliseconds of the day have passed. */
export const timeOfDay = (day: LocalDay, elapsed: number): number => {
  const instant = day.start + elapsed
  const offset = day.change !== null && instant >= day.change.at ? day.change.offset : day.offset
  return instant + offset - day.number * dayMillis
}

/**
 * Returns the number of milliseconds from the start of the day to a local time of day. Skipped and repeated times are
 * handled as in `instantOf`. Times past midnight are counted from the end of the day.
 */
export const elapsedAt = (day: LocalDay, time: number): number => {
  if (time >= dayMillis) return day.length + time - dayMillis
  const wall = day.number * dayMillis + time
  const first = wall - day.offset
  // A day that begins with a gap has no midnight. Times in the gap are moved past it.
  if (first < day.start) return first + timeOfDay(day, 0) - day.start
  if (day.change === null || first < day.change.at) return first - day.start
  const second = wall - day.change.offset
  return (second >= day.change.at ? second : first) - day.start
}
