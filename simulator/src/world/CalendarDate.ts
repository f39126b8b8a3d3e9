/**
 * Dates of the Gregorian calendar as day numbers: days since 1970-01-01.
 */

export interface CalendarDate {
  readonly year: number
  /** 1 is January. */
  readonly month: number
  readonly day: number
}

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export const monthLength = (year: number, month: number): number =>
  month === 2 && isLeap(year) ? 29 : (lengths[month - 1] ?? 0)

/** The number of a date; the date must exist. */
export const dayNumberOf = ({ year, month, day }: CalendarDate): number => {
  // Years that begin in March, so that leap days are at their ends (Hinnant's days_from_civil).
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}

/** The date of a day number. */
export const dateOf = (number: number): CalendarDate => {
  const shifted = number + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  }
}

/** The day of the week of a day number: 0 is Sunday. */
export const weekdayOf = (number: number): number => (((number + 4) % 7) + 7) % 7

const two = (number: number): string => `${number}`.padStart(2, "0")

/** A day number as `2026-03-02`. */
export const formatDay = (number: number): string => {
  const { year, month, day } = dateOf(number)
  return `${`${year}`.padStart(4, "0")}-${two(month)}-${two(day)}`
}

/** The day number of `2026-03-02`; null when there is no such date. */
export const parseDay = (text: string): number | null => {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return null
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number)
  if (month < 1 || month > 12 || day < 1 || day > monthLength(year, month)) return null
  return dayNumberOf({ year, month, day })
}
