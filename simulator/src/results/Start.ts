/**
 * What clocks show in the course of a run: those of its buildings where they are in one time zone, else UTC.
 */
import type { RunReport } from "./RunReport.ts"
import { dayMillis } from "../world/LocalTime.ts"
import { instantAt, offsetAt } from "../world/zones/TimeZone.ts"

type Clocked = Pick<RunReport, "began_at" | "time_zone">

const zoneOf = ({ time_zone }: Clocked): string => time_zone ?? "UTC"

/** What a time by those clocks has behind it, where it is not the buildings' own. */
export const zoneMark = ({ time_zone }: Clocked): string => (time_zone === null ? " UTC" : "")

/** Milliseconds by those clocks, so long after the beginning: also when they were put forward or back meanwhile. */
const wallOf = (report: Clocked, sinceStart: number): number => {
  const instant = Date.parse(report.began_at) + sinceStart
  return instant + offsetAt(instant, zoneOf(report))
}

/** The beginning's date, as the number of its day. */
export const firstDayOf = (report: Clocked): number => Math.floor(wallOf(report, 0) / dayMillis)

/** Milliseconds by those clocks since midnight of the first day. */
export const sinceMidnight = (report: Clocked, sinceStart: number): number =>
  wallOf(report, sinceStart) - firstDayOf(report) * dayMillis

/** How long after the beginning those clocks show a time, given since midnight of the first day. */
export const sinceStartOf = (report: Clocked, midnight: number): number =>
  instantAt(firstDayOf(report) * dayMillis + midnight, zoneOf(report)) - Date.parse(report.began_at)
