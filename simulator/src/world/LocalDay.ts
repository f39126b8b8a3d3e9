/**
 * One calendar day in one time zone: where it lies on the time line, and which part of it was which time of day.
 *
 * People keep to the clock on the wall, so rates are given by wall clock; events happen on the time line. Most days are
 * 24 hours, a day on which clocks change is not: the hour left out has no events, the hour repeated has them twice.
 */
import { weekdayOf } from "./CalendarDate.ts"
import type { LocalTime } from "./LocalTime.ts"
import { dayMillis, minute } from "./LocalTime.ts"
import { changeBetween, instantAt, offsetAt } from "./zones/TimeZone.ts"

export interface LocalDay {
  /** Days since 1970-01-01 of the calendar. */
  readonly number: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** Its first instant, in milliseconds since the epoch. */
  readonly start: number
  /** How long it lasts, in milliseconds. */
  readonly length: number
  /** What the wall clock is ahead of UTC before the change, in milliseconds. */
  readonly offset: number
  /** The clock change within the day; null on most days. */
  readonly change: { readonly at: number; readonly offset: number } | null
}

/**
 * The instant at which the clocks of a zone show a time, in milliseconds since the epoch. A time shown twice is the
 * first of the two; one that is left out is as far after the gap as it is into it.
 */
export const instantOf = (time: LocalTime | number, zone: string): number => instantAt(time, zone)

/** The number of the day that an instant lies on. */
export const dayNumberAt = (instant: number, zone: string): number =>
  Math.floor((instant + offsetAt(instant, zone)) / dayMillis)

/** The number of the day that an instant lies on, and the minute of it that clocks show, 0 to 1439. */
export const momentAt = (instant: number, zone: string) => {
  const wall = instant + offsetAt(instant, zone)
  const day = Math.floor(wall / dayMillis)
  return { day, minute: Math.floor((wall - day * dayMillis) / minute) }
}

/** The hour that clocks show at an instant, 0 to 23. */
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

/** How many days are kept: those of a few zones around one date. */
const keptDays = 64

/** Makes days and keeps the last: all flows of a building need the same one, and finding a change takes time. */
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

/** The time of day, in milliseconds, that clocks show so long after the start of the day. */
export const timeOfDay = (day: LocalDay, elapsed: number): number => {
  const instant = day.start + elapsed
  const offset = day.change !== null && instant >= day.change.at ? day.change.offset : day.offset
  return instant + offset - day.number * dayMillis
}

/**
 * How long after the start of the day clocks show a time of day, in milliseconds, with the same choice as `instantOf`.
 * Times past midnight are counted from the end of the day.
 */
export const elapsedAt = (day: LocalDay, time: number): number => {
  if (time >= dayMillis) return day.length + time - dayMillis
  const wall = day.number * dayMillis + time
  const first = wall - day.offset
  // A day that begins with a gap has no midnight: what is in the gap is as far after it.
  if (first < day.start) return first + timeOfDay(day, 0) - day.start
  if (day.change === null || first < day.change.at) return first - day.start
  const second = wall - day.change.offset
  return (second >= day.change.at ? second : first) - day.start
}
