/**
 * ISO 8601 in UTC with milliseconds, both ways. Every event has two of these, so the date is formatted once a day.
 */
import { DateTime } from "effect"
import { dayMillis, hour, minute, second } from "../world/LocalTime.ts"

const two = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"))
const three = Array.from({ length: 1_000 }, (_, number) => `${number}`.padStart(3, "0"))

let lastDay = Number.NaN
let lastDate = ""

/** Writes an instant, in whole milliseconds since the epoch. */
export const toIso = (instant: number): string => {
  const day = Math.floor(instant / dayMillis)
  if (day !== lastDay) {
    lastDate = DateTime.formatIsoDateUtc(DateTime.makeUnsafe(day * dayMillis))
    lastDay = day
  }
  const time = instant - day * dayMillis
  const hours = two[Math.floor(time / hour)]
  const minutes = two[Math.floor(time / minute) % 60]
  const seconds = two[Math.floor(time / second) % 60]
  return `${lastDate}T${hours}:${minutes}:${seconds}.${three[time % second]}Z`
}

/** Reads what `toIso` wrote. */
export const fromIso = (text: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(text))
