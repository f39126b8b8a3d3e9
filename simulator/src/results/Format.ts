/** Numbers and times in readable form. */
import { dayMillis as day, hour, minute, second } from "../world/LocalTime.ts"
import { offsetAt } from "../world/zones/TimeZone.ts"

/** Formats 1234567 as `1,234,567`, in every locale. */
export const grouped = (count: number): string => `${Math.round(count)}`.replaceAll(/\B(?=(\d{3})+$)/g, ",")

const decimals = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, "") : `${Math.round(value)}`)

/** Formats a duration with one or two units: `43 ms`, `2.4 s`, `2 h 14 min`, `3 days`. */
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

/** Formats a share as a percentage. Only a share of 1 is shown as 100 %. */
export const percent = (share: number): string => {
  if (share === 1 || share === 0) return `${share * 100} %`
  const text = (share * 100).toFixed(share > 0.999 ? 3 : share > 0.99 || share < 0.01 ? 2 : 1)
  return Number(text) === 100 ? "> 99.99 %" : `${text} %`
}

/** Formats a count: `one event`, `2 events`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  count === 1 ? `one ${one}` : `${grouped(count)} ${many}`

/** Facts of a run by which its times are shown; `RunFacts` has them. */
interface Clocked {
  readonly began_at: string
  readonly time_zone: string | null
  readonly duration: number
  readonly speed: number | null
}

/**
 * Returns a time of the run as local time of the buildings, in milliseconds since the epoch. Uses UTC if the buildings
 * are in several zones.
 */
export const wallAt = ({ began_at, time_zone }: Clocked, sinceStart: number): number => {
  const instant = Date.parse(began_at) + sinceStart
  return time_zone === null ? instant : instant + offsetAt(instant, time_zone)
}

/**
 * Formats a time as `day 2, 15:04` in runs of several days, else as `15:04`. Adds `UTC` if the time isn't local to the
 * buildings.
 */
export const clockText = (report: Clocked, sinceStart: number): string => {
  const wall = new Date(wallAt(report, sinceStart))
  const days = Math.floor(wall.getTime() / day) - Math.floor(wallAt(report, 0) / day)
  const clock = `${wall.toISOString().slice(11, 16)}${report.time_zone === null ? " UTC" : ""}`
  return report.duration > day ? `day ${days + 1}, ${clock}` : clock
}

/** Formats a time as time of day if the run kept a schedule, else as time since the beginning. */
export const clockAt = (report: Clocked, sinceStart: number): string =>
  report.speed === null ? `${duration(sinceStart)} after the beginning` : `at ${clockText(report, sinceStart)}`
