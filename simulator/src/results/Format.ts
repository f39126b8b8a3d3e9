/**
 * Numbers and times as people say them.
 */
import { dayMillis as day, hour, minute, second } from "../world/LocalTime.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"
import type { RunReport } from "./RunReport.ts"

/** 1234567 as `1,234,567`, in every locale. */
export const grouped = (count: number): string => `${Math.round(count)}`.replaceAll(/\B(?=(\d{3})+$)/g, ",")

const decimals = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, "") : `${Math.round(value)}`)

/** A duration, to two places that matter: `43 ms`, `2.4 s`, `2 h 14 min`, `3 days`. */
export const duration = (millis: number): string => {
  if (millis < second) return `${Math.round(millis)} ms`
  if (millis < minute) return `${decimals(millis / second)} s`
  if (millis < hour) return `${decimals(millis / minute)} min`
  if (millis < 2 * day) {
    const hours = Math.floor(millis / hour)
    const minutes = Math.round((millis - hours * hour) / minute)
    return minutes === 0 ? `${hours} h` : minutes === 60 ? `${hours + 1} h` : `${hours} h ${minutes} min`
  }
  return `${decimals(millis / day)} days`
}

/** A part of 1, with as many places as it takes not to say 100 % of what is less. */
export const percent = (share: number): string => {
  if (share === 1 || share === 0) return `${share * 100} %`
  const text = (share * 100).toFixed(share > 0.999 ? 3 : share > 0.99 || share < 0.01 ? 2 : 1)
  return Number(text) === 100 ? "> 99.99 %" : `${text} %`
}

/** `one event`, `2 events`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  count === 1 ? `one ${one}` : `${grouped(count)} ${many}`

type Clocked = Pick<RunReport, "began_at" | "time_zone" | "duration" | "speed">

/** Milliseconds by the clocks of the buildings, or by UTC where they are in several zones, since the epoch. */
export const wallAt = ({ began_at, time_zone }: Clocked, sinceStart: number): number => {
  const instant = Date.parse(began_at) + sinceStart
  return time_zone === null ? instant : instant + offsetAt(instant, time_zone)
}

/** `day 2, 15:04` in runs of days, `15:04` in one; with UTC behind it where that is no clock of the buildings. */
export const clockText = (report: Clocked, sinceStart: number): string => {
  const wall = new Date(wallAt(report, sinceStart))
  const days = Math.floor(wall.getTime() / day) - Math.floor(wallAt(report, 0) / day)
  const clock = `${wall.toISOString().slice(11, 16)}${report.time_zone === null ? " UTC" : ""}`
  return report.duration > day ? `day ${days + 1}, ${clock}` : clock
}

/** By the clock where the run kept a schedule, else as a stopwatch has it. */
export const clockAt = (report: Clocked, sinceStart: number): string =>
  report.speed === null ? `${duration(sinceStart)} after the beginning` : `at ${clockText(report, sinceStart)}`
