/**
 * The axis of time that all charts of a report share.
 */
import type { RunReport } from "../../results/RunReport.ts"
import { parseDay } from "../../world/CalendarDate.ts"
import type { ChartOptions } from "../Chart.ts"
import { timeMarks } from "../Scale.ts"
import { firstDayOf, offsetOf } from "../../results/Start.ts"
import { duration, momentOf } from "../../results/Words.ts"

const minute = 60_000
const day = 24 * 60 * minute

const lengthOf = ({ interval, series }: RunReport): number => Math.max(1, series.length) * interval

/** Whether the axis is that of the plan, or that of a stopwatch. */
const hasClock = ({ speed }: RunReport): boolean => speed !== null

export const timesOf = (report: RunReport): ChartOptions["times"] => {
  const length = lengthOf(report)
  const offset = hasClock(report) ? offsetOf(report) : 0
  return timeMarks(length, offset).map((at) => ({
    at: (at / length) * 100,
    name: !hasClock(report)
      ? duration(at)
      : length > 2 * day
        ? (offset + at) % day === 0
          ? `day ${Math.floor((offset + at) / day) + 1}`
          : momentOf(at, offset, false)
        : momentOf(at, offset, false)
  }))
}

/** When receivers were down by the clock: each window once, on each day that it is of. */
export const bandsOf = (report: RunReport): ChartOptions["bands"] => {
  if (!hasClock(report)) return []
  const windows = new Map(
    report.integration_lines.flatMap(({ down }) =>
      down.map((window) => [`${window.from} ${window.to} ${window.on}`, window] as const)
    )
  )
  const length = lengthOf(report)
  const offset = offsetOf(report)
  const first = firstDayOf(report)
  // From the day before on: what is down over midnight may have begun then.
  const days = Array.from({ length: Math.ceil((length + offset) / day) + 1 }, (_, at) => at - 1)
  return [...windows.values()].flatMap(({ from, on, to }) =>
    days
      .filter((at) => on === null || first + at === parseDay(on))
      .map((at) => {
        const begins = at * day + from * minute - offset
        const ends = at * day + to * minute + (to <= from ? day : 0) - offset
        return { from: Math.max(0, (begins / length) * 100), to: Math.min(100, (ends / length) * 100) }
      })
      .filter((band) => band.to > band.from)
  )
}
