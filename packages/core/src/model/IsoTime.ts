/**
 * Times in text form. Internally, a time is a number of milliseconds since the epoch.
 */
import { DateTime, Option } from "effect"

/** The latest time that a `Date` can represent (ECMA-262 section 21.4.1.1), in the year 275760. */
export const latest = 8_640_000_000_000_000

/** ISO 8601 in UTC with milliseconds: `2026-03-02T00:00:00.000Z`. Times after `latest` are shown as `latest`. */
export const isoOf = (millis: number): string => new Date(Math.min(millis, latest)).toISOString()

/** A date, or a date and time with an offset. A local time is not accepted, because it depends on the machine. */
const instant = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Whether the day of a date exists in its month. The parser alone would accept 31 April as 1 May. */
const hasDay = (text: string): boolean => {
  const [date = ""] = text.split("T")
  return Option.exists(DateTime.make(date), (read) => DateTime.formatIsoDateUtc(read) === date)
}

/** Parses ISO 8601 to milliseconds since the epoch. A date without a time means the start of that day in UTC. */
export const parseIso = (text: string): Option.Option<number> =>
  instant.test(text) && hasDay(text) ? Option.map(DateTime.make(text), DateTime.toEpochMillis) : Option.none()
