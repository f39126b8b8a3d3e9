/**
 * ISO 8601 in UTC with milliseconds, both ways. Every event has two of these, so the date is formatted once a day.
 */
import { DateTime } from "effect"
import { formatDay } from "../world/CalendarDate.ts"
import { dayMillis, hour, minute, second } from "../world/LocalTime.ts"

const two = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"))
const three = Array.from({ length: 1_000 }, (_, number) => `${number}`.padStart(3, "0"))

let lastMinute = Number.NaN
let lastPrefix = ""

/** The date and the time to the minute, made again when it changes: events come in order, many in a minute. */
const prefixOf = (instant: number): string => {
  const day = Math.floor(instant / dayMillis)
  const time = instant - day * dayMillis
  return `${formatDay(day)}T${two[Math.floor(time / hour)]}:${two[Math.floor(time / minute) % 60]}:`
}

/** Writes an instant, in whole milliseconds since the epoch. */
export const toIso = (instant: number): string => {
  const whole = Math.floor(instant / minute)
  if (whole !== lastMinute) {
    lastPrefix = prefixOf(instant)
    lastMinute = whole
  }
  const rest = instant - whole * minute
  const seconds = Math.floor(rest / second)
  return `${lastPrefix}${two[seconds]}.${three[rest - seconds * second]}Z`
}

/** Reads what `toIso` wrote. */
export const fromIso = (text: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(text))
