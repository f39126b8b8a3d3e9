/**
 * The axis of time that all charts of a report share.
 */
import type { RunReport } from "../../results/RunReport.ts"
import { parseDay } from "../../world/CalendarDate.ts"
import type { ChartOptions } from "../Chart.ts"
import { timeMarks } from "../Scale.ts"
import { firstDayOf, sinceMidnight, sinceStartOf, zoneMark } from "../../results/Start.ts"
import { duration, momentOf } from "../../results/Words.ts"

const minute = 60_000
const day = 24 * 60 * minute

const lengthOf = ({ interval, series }: RunReport): number => Math.max(1, series.length) * interval

/** Whether the axis is that of the plan, or that of a stopwatch. */
const hasClock = ({ speed }: RunReport): boolean => speed !== null

/** Marks at round times by the clock. */
const clockMarks = (report: RunReport, length: number): ChartOptions["times"] => {
  const offset = sinceMidnight(report, 0)
  return timeMarks(length, offset).flatMap((after) => {
    const shown = offset + after
    // Where clocks were put forward or back since the beginning, they show it sooner or later.
    const at = sinceStartOf(report, shown)
    const name = length > 2 * day && shown % day === 0 ? `day ${shown / day + 1}` : momentOf(shown, false)
    return at < 0 || at > length ? [] : [{ at: (at / length) * 100, name: `${name}${zoneMark(report)}` }]
  })
}

export const timesOf = (report: RunReport): ChartOptions["times"] => {
  const length = lengthOf(report)
  return hasClock(report)
    ? clockMarks(report, length)
    : timeMarks(length, 0).map((at) => ({ at: (at / length) * 100, name: duration(at) }))
}

/**
 * When receivers were down by the clock: each window once, on each day that it is of. None where buildings are in several time
 * zones: their clocks show it at different times.
 */
export const bandsOf = (report: RunReport): ChartOptions["bands"] => {
  if (!hasClock(report) || report.time_zone === null) return []
  const windows = new Map(
    report.integration_lines.flatMap(({ down }) =>
      down.map((window) => [`${window.from} ${window.to} ${window.on}`, window] as const)
    )
  )
  const length = lengthOf(report)
  const first = firstDayOf(report)
  // From the day before on: what is down over midnight may have begun then.
  const days = Array.from({ length: Math.ceil(sinceMidnight(report, length) / day) + 1 }, (_, at) => at - 1)
  return [...windows.values()].flatMap(({ from, on, to }) =>
    days
      .filter((at) => on === null || first + at === parseDay(on))
      .map((at) => {
        const begins = sinceStartOf(report, at * day + from * minute)
        const ends = sinceStartOf(report, at * day + to * minute + (to <= from ? day : 0))
        return { from: Math.max(0, (begins / length) * 100), to: Math.min(100, (ends / length) * 100) }
      })
      .filter((band) => band.to > band.from)
  )
}
