/**
 * Time zones from a table of our own, so that a plan's bytes do not depend on the time-zone data that comes with a
 * runtime: releases of Node.js carry different editions of it.
 *
 * A zone is an offset on 1 January 2000, changes of it at stated instants, and a rule for all later years where there is
 * one. The table is made by `generate.ts` from the data of the Node.js that the project pins.
 */
import { dateOf, dayNumberOf, weekdayOf } from "../CalendarDate.ts"
import { hour, minute } from "../LocalTime.ts"
import { aliases, zones } from "./ZoneTable.ts"

/** A yearly change: on the first such weekday from a day of a month on. */
interface Rule {
  readonly month: number
  readonly day: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** By the clocks before the change, in milliseconds of the day; up to 24 hours. */
  readonly time: number
  /** What clocks are ahead of UTC from then on, in milliseconds. */
  readonly offset: number
}

export interface TimeZone {
  readonly name: string
  /** Instants of changes, in milliseconds since the epoch, rising. */
  readonly changes: ReadonlyArray<number>
  /** The offset before the first change, then from each on, in milliseconds. */
  readonly offsets: ReadonlyArray<number>
}

/** Changes are computed for the years in which plans can lie. */
const lastYear = 2_090

const minutesOf = (text: string): number => Number.parseInt(text, 36)

const ruleOf = (text: string): Rule => {
  const [month = 0, day = 0, weekday = 0, time = 0, offset = 0] = text.split(",").map(Number)
  return { month, day, weekday, time: time * minute, offset: offset * minute }
}

const changeOf = (rule: Rule, year: number, before: number): number => {
  const first = dayNumberOf({ year, month: rule.month, day: rule.day })
  const day = first + ((rule.weekday - weekdayOf(first) + 7) % 7)
  return day * 24 * hour + rule.time - before
}

/** Reads `offset|instant:offset ...|rule;rule`: minutes, instants in base 36. */
const read = (name: string, text: string): TimeZone => {
  const [first = "0", explicit = "", rules = ""] = text.split("|")
  const changes: Array<number> = []
  const offsets = [Number(first) * minute]
  for (const entry of explicit.split(" ").filter((part) => part !== "")) {
    const [at = "", offset = "0"] = entry.split(":")
    changes.push(minutesOf(at) * minute)
    offsets.push(Number(offset) * minute)
  }
  const yearly = rules.split(";").filter((part) => part !== "")
  const last = changes.at(-1) ?? 0
  const firstYear = dateOf(Math.floor(last / (24 * hour))).year
  for (let year = firstYear; yearly.length > 0 && year <= lastYear; year++) {
    for (const rule of yearly.map(ruleOf)) {
      const before = offsets.at(-1) ?? 0
      const at = changeOf(rule, year, before)
      if (at <= last) continue
      changes.push(at)
      offsets.push(rule.offset)
    }
  }
  return { name, changes, offsets }
}

const known = new Map<string, TimeZone>()

/** What is accepted as a time zone, for whoever gave something else. */
export const expectedZone =
  "the IANA name of a place's time zone, like Europe/Berlin; the simulator's table has no names like CET or Etc/GMT+5"

/** The zone of an IANA name; null when there is none. */
export const timeZone = (name: string): TimeZone | null => {
  const found = known.get(name)
  if (found !== undefined) return found
  const text = zones[aliases[name] ?? name]
  if (text === undefined) return null
  const zone = read(name, text)
  known.set(name, zone)
  return zone
}

/** A zone that is known to be there. */
const zoneOf = (name: string): TimeZone => {
  const zone = timeZone(name)
  if (zone === null)
    throw new RangeError(`There is no time zone ${JSON.stringify(name)}; give an IANA name like Europe/Berlin`)
  return zone
}

/** How many changes lie at or before an instant. */
const changesUntil = ({ changes }: TimeZone, instant: number): number => {
  let [low, high] = [0, changes.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((changes[middle] ?? 0) <= instant) low = middle + 1
    else high = middle
  }
  return low
}

/** What clocks of a zone are ahead of UTC at an instant, in milliseconds. */
export const offsetAt = (instant: number, name: string): number => {
  const zone = zoneOf(name)
  return zone.offsets[changesUntil(zone, instant)] ?? 0
}

/** The first change of a zone after an instant and before another; null when there is none. */
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
 * The instant at which the clocks of a zone show a time. A time shown twice is the first of the two; one that is left
 * out is as far after the gap as it is into it.
 */
export const instantAt = (wall: number, name: string): number => {
  const zone = zoneOf(name)
  // No clock is more than 14 hours from UTC: the offset in force is among these.
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
