/**
 * Times on the wire. Inside, a time is a number of milliseconds since the epoch.
 */
import { DateTime, Option } from "effect"

/** The last time there is (ECMA-262 section 21.4.1.1), in the year 275760. */
export const latest = 8_640_000_000_000_000

/** ISO 8601 UTC, to the millisecond: `2026-03-02T00:00:00.000Z`. A time beyond all others is written as the last there is. */
export const isoOf = (millis: number): string => new Date(Math.min(millis, latest)).toISOString()

/** A date, or a date and time with its offset: a local time would mean something else on each machine. */
const instant = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Whether a month has the day that a date names: the reader of dates counts on into the next one. */
const hasDay = (text: string): boolean => {
  const [date = ""] = text.split("T")
  return Option.exists(DateTime.make(date), (read) => DateTime.formatIsoDateUtc(read) === date)
}

/** The time that a text in ISO 8601 names, in milliseconds since the epoch. A date alone is its first moment in UTC. */
export const parseIso = (text: string): Option.Option<number> =>
  instant.test(text) && hasDay(text) ? Option.map(DateTime.make(text), DateTime.toEpochMillis) : Option.none()
