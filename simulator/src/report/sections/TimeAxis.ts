/**
 * The axis of time that all charts of a report share.
 */
import type { RunReport } from "../../run/RunReport.ts"
import type { ChartOptions } from "../Chart.ts"
import { timeMarks } from "../Scale.ts"
import { duration, momentOf } from "../Words.ts"

const hour = 3_600_000
const day = 24 * hour

const offsetOf = ({ start }: RunReport): number => {
  const match = /T(\d\d):(\d\d)/.exec(start)
  return match === null ? 0 : Number(match[1]) * hour + Number(match[2]) * 60_000
}

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

/** When receivers were down by the clock, where all of them say the same. */
export const bandsOf = (report: RunReport): ChartOptions["bands"] => {
  if (!hasClock(report)) return []
  const windows = new Set(
    report.integration_lines.flatMap(({ receiver }) =>
      [...receiver.matchAll(/down:(\d\d):(\d\d)-(\d\d):(\d\d)(?:,on=([\d-]+))?/g)].map((match) =>
        match.slice(1).join(" ")
      )
    )
  )
  const length = lengthOf(report)
  const offset = offsetOf(report)
  const first = Date.parse(`${report.start.slice(0, 10)}T00:00:00Z`)
  return [...windows].flatMap((window) => {
    const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = window.split(" ").map(Number)
    const on = window.split(" ")[4] ?? ""
    const days = Array.from({ length: Math.ceil((length + offset) / day) }, (_, at) => at)
    return days
      .filter((at) => on === "" || first + at * day === Date.parse(`${on}T00:00:00Z`))
      .map((at) => {
        const from = at * day + fromHour * hour + fromMinute * 60_000 - offset
        const until = at * day + toHour * hour + toMinute * 60_000 - offset
        return {
          from: Math.max(0, (from / length) * 100),
          to: Math.min(100, ((until <= from ? until + day : until) / length) * 100)
        }
      })
      .filter(({ from, to }) => to > from)
  })
}
