/**
 * Which days are not what their weekday says: holidays, and seasons that make a flow busier.
 */
import { dateOf } from "./CalendarDate.ts"
import type { LocalDay } from "./LocalDay.ts"

export interface Calendar {
  /** Day numbers of holidays that come once. */
  readonly dates: ReadonlySet<number>
  /** Holidays of every year, as month * 100 + day. */
  readonly yearly: ReadonlySet<number>
}

export const noHolidays: Calendar = { dates: new Set(), yearly: new Set() }

/** A part of every year; both ends belong to it. A season that ends before it begins goes over the new year. */
export interface Season {
  /** Month * 100 + day. */
  readonly from: number
  readonly to: number
  /** How many times as many come. */
  readonly factor: number
}

/** Month * 100 + day of a day number. */
const monthDayOf = (number: number): number => {
  const { month, day } = dateOf(number)
  return month * 100 + day
}

/** The weekday that people keep to: holidays are kept like Sundays. 0 is Sunday. */
export const keptWeekday = ({ dates, yearly }: Calendar, { number, weekday }: LocalDay): number =>
  weekday === 0 || (dates.size === 0 && yearly.size === 0)
    ? weekday
    : dates.has(number) || yearly.has(monthDayOf(number))
      ? 0
      : weekday

const isIn = ({ from, to }: Season, at: number): boolean =>
  from <= to ? at >= from && at <= to : at >= from || at <= to

/** The factor of all seasons that a day belongs to. */
export const seasonFactor = (seasons: ReadonlyArray<Season>, number: number): number => {
  if (seasons.length === 0) return 1
  const at = monthDayOf(number)
  return seasons.reduce((factor, season) => (isIn(season, at) ? factor * season.factor : factor), 1)
}
