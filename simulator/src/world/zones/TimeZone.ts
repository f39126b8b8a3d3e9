/**
 * Time zones come from a table in this package, so plans don't depend on the time-zone data of the runtime, which
 * differs between Node.js releases. Zones that are not in the table (such as `CET` and `Etc/GMT+5`) are read from the
 * runtime.
 */
import { dateOf, dayNumberOf, weekdayOf } from "../CalendarDate.ts"
import { dayMillis, hour, minute } from "../LocalTime.ts"
import table from "./zones.json" with { type: "json" }

/**
 * Instants of changes (milliseconds since the epoch, rising), and the offsets before the first change and after each
 * change.
 */
export interface TimeZone {
  readonly changes: ReadonlyArray<number>
  readonly offsets: ReadonlyArray<number>
}

/** First and last covered year. No plan extends beyond these years. */
const firstYear = 2_000
export const lastYear = 2_090

/**
 * Reads `offset|instant:offset ...|month,day,weekday,time,offset;...`: times in minutes, instants in base 36, yearly
 * rules last.
 */
const read = (text: string): TimeZone => {
  const [first = "0", explicit = "", rules = ""] = text.split("|")
  const changes: Array<number> = []
  const offsets = [Number(first) * minute]
  for (const entry of explicit.split(" ").filter((part) => part !== "")) {
    const [at = "", offset = "0"] = entry.split(":")
    changes.push(Number.parseInt(at, 36) * minute)
    offsets.push(Number(offset) * minute)
  }
  const yearly = rules.split(";").filter((part) => part !== "")
  const last = changes.at(-1) ?? 0
  for (let year = dateOf(Math.floor(last / dayMillis)).year; yearly.length > 0 && year <= lastYear; year++) {
    for (const rule of yearly) {
      // The change is on the first matching weekday on or after `day`. Its time is the local time before the change.
      const [month = 0, day = 0, weekday = 0, time = 0, offset = 0] = rule.split(",").map(Number)
      const from = dayNumberOf(year, month, day) ?? 0
      const number = from + ((weekday - weekdayOf(from) + 7) % 7)
      const at = number * dayMillis + time * minute - (offsets.at(-1) ?? 0)
      if (at <= last) continue
      changes.push(at)
      offsets.push(offset * minute)
    }
  }
  return { changes, offsets }
}

const offsetReader = (name: string): ((instant: number) => number) => {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" })
  return (instant) => {
    const text = format.formatToParts(instant).find(({ type }) => type === "timeZoneName")?.value ?? ""
    const [, sign, hours = "0", minutes = "0"] = /([+-])(\d\d):(\d\d)/.exec(text) ?? []
    return (sign === "-" ? -1 : 1) * (Number(hours) * hour + Number(minutes) * minute)
  }
}

/** Step of the search for changes. No zone has had two changes within one step. */
const stepMillis = 3 * dayMillis

/** Reads a zone from the runtime, with changes exact to the minute. Throws a RangeError for an unknown name. */
export const fromRuntime = (name: string): TimeZone => {
  const offsetAt = offsetReader(name)
  const changes: Array<number> = []
  const offsets = [offsetAt(Date.UTC(firstYear))]
  const end = Date.UTC(lastYear + 1)
  for (let low = Date.UTC(firstYear); low < end; low += stepMillis) {
    let [left, right] = [low, Math.min(low + stepMillis, end)]
    const before = offsetAt(left)
    if (offsetAt(right) === before) continue
    while (right - left > minute) {
      const middle = Math.floor((left + right) / 2 / minute) * minute
      if (offsetAt(middle) === before) left = middle
      else right = middle
    }
    changes.push(right)
    offsets.push(offsetAt(right))
  }
  return { changes, offsets }
}

const isKnown = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }) instanceof Intl.DateTimeFormat
  } catch {
    return false
  }
}

const known = new Map<string, TimeZone>()
const zones = new Map<string, string>(Object.entries(table.zones))
const aliases = new Map<string, string>(Object.entries(table.aliases))

/** Description of accepted time zones. */
export const expectedZone = "the IANA name of a time zone, like Europe/Berlin"

/** Returns the zone of an IANA name; null if there is none. */
export const timeZone = (name: string): TimeZone | null => {
  const found = known.get(name)
  if (found !== undefined) return found
  const text = zones.get(aliases.get(name) ?? name)
  if (text === undefined && !isKnown(name)) return null
  const zone = text === undefined ? fromRuntime(name) : read(text)
  known.set(name, zone)
  return zone
}

const zoneOf = (name: string): TimeZone => {
  const zone = timeZone(name)
  if (zone === null) throw new RangeError(`There is no time zone ${JSON.stringify(name)}; give ${expectedZone}`)
  return zone
}

/** Returns the number of changes up to and including an instant. */
const changesUntil = ({ changes }: TimeZone, instant: number): number => {
  let [low, high] = [0, changes.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((changes[middle] ?? 0) <= instant) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the offset of a zone from UTC at an instant, in milliseconds. */
export const offsetAt = (instant: number, name: string): number => {
  const zone = zoneOf(name)
  return zone.offsets[changesUntil(zone, instant)] ?? 0
}

/** Returns the first change of a zone after `from` and before `until`; null if there is none. */
export const changeBetween = (
  from: number,
  until: number,
  name: string
): { readonly at: number; readonly offset: number } | null => {
  const zone = zoneOf(name)
  const next = changesUntil(zone, from)
  const at = zone.changes[next]
  return at === undefined || at >= until ? null : { at, offset: zone.offsets[next + 1] ?? 0 }
}

/**
 * Converts local time in a zone to an instant. For a time that occurs twice, returns the first instant. A skipped time
 * is moved past the gap: 2:30 becomes 3:30.
 */
export const instantAt = (wall: number, name: string): number => {
  const zone = zoneOf(name)
  // Offsets from UTC are at most 14 hours, so the offset in force is among these.
  const first = changesUntil(zone, wall - 15 * hour)
  const last = changesUntil(zone, wall + 15 * hour)
  for (let place = first; place <= last; place++) {
    const instant = wall - (zone.offsets[place] ?? 0)
    if (instant < (zone.changes[place] ?? Infinity)) {
      const isShown = instant >= (zone.changes[place - 1] ?? -Infinity)
      return isShown ? instant : wall - (zone.offsets[place - 1] ?? 0)
    }
  }
  return wall - (zone.offsets[last] ?? 0)
}
