/** Estimates employees from a log: attendance by weekday, times of arrival, groups, lunch and shifts. */
import { weekdayOf } from "../world/CalendarDate.ts"
import { hour, second } from "../world/LocalTime.ts"
import type { LogEntry } from "./AccessLog.ts"
import { byWeekday, clockTime, dayVariation, lognormalFit, mean, quantile, rounded, share } from "./Estimates.ts"
import type { MemberDay, Members } from "./Members.ts"
import { presence } from "./Members.ts"

/** Maximum gap at the same door between two people of a group. */
const closeBehind = 2.5 * second

/** The traffic within this time before and after an entry gives the probability that a gap is small by chance. */
const aroundHalf = 150 * second

/**
 * Returns the share of entries that form a group with the previous entry at the same door. Corrects for gaps that are
 * small by chance.
 */
const groupShare = (entries: ReadonlyArray<LogEntry>): number => {
  let [behind, chance, count] = [0, 0, 0]
  const groups = Map.groupBy(entries, ({ day, door }) => `${day} ${door}`)
  for (const own of groups.values()) {
    const times = own.map(({ time }) => time).toSorted((a, b) => a - b)
    // Indexes that bound the five minutes around an entry. Both only move forward, so the work stays small in dense
    // traffic.
    let [from, until] = [0, 0]
    for (const [index, time] of times.entries()) {
      while (time - (times[from] ?? time) >= aroundHalf) from++
      while (until < times.length && (times[until] ?? time) - time < aroundHalf) until++
      const before = times[index - 1]
      if (before === undefined) continue
      count++
      if (time - before <= closeBehind) behind++
      // The number of entries in these five minutes gives the probability of a small gap by chance.
      const around = until - from - 1
      chance += 1 - Math.exp((-around * closeBehind) / (2 * aroundHalf))
    }
  }
  if (count === 0) return 0
  const [seen, expected] = [behind / count, chance / count]
  // Entries of the same group were counted as well, so chance is overestimated by the share of groups.
  const byChance = expected * (1 - seen)
  return share((seen - byChance) / (1 - byChance), 0.9)
}

interface Lunch {
  readonly out: LogEntry
  readonly minutes: number
}

/** Finds the two entries at outer doors, in the middle of the day, between which a member was out for lunch. */
const lunchOf = ({ entries }: MemberDay, outer: ReadonlySet<string>): Lunch | null => {
  const own = entries.filter(({ door }) => outer.has(door))
  // In, out, back, out: a person who leaves the building for lunch has four entries.
  const [, out, back, leaves] = own
  if (own.length !== 4 || out === undefined || back === undefined || leaves === undefined) return null
  return out.clock < 10 || out.clock > 15 ? null : { out, minutes: (back.time - out.time) / 60_000 }
}

const isWorking = ({ day }: { readonly day: number }): boolean => weekdayOf(day) % 6 !== 0

/** Returns the outer doors: those through which more than 4 % of the members' days begin. */
const outerDoors = (days: ReadonlyArray<MemberDay>): ReadonlySet<string> => {
  const firsts = Map.groupBy(
    days.flatMap(({ entries }) => entries.slice(0, 1)),
    ({ door }) => door
  )
  return new Set([...firsts].filter(([, own]) => own.length > days.length * 0.04).map(([door]) => door))
}

/** Hours of the day between which the day shift arrives. */
const byDay = { from: 6.5, until: 12.5 } as const
const evening = 20

type Shift = "early" | "late" | "night" | "day"

/** Returns the shift of a person, judged by the median times of the first and the last entry of a day. */
const shiftOf = (days: ReadonlyArray<MemberDay>): Shift => {
  const come = quantile(
    days.flatMap(({ entries }) => entries[0]?.clock ?? []),
    0.5
  )
  const go = quantile(
    days.flatMap(({ entries }) => entries.at(-1)?.clock ?? []),
    0.5
  )
  if (come >= byDay.from && come < byDay.until) return "day"
  // The end of one night shift (6:00) and the beginning of the next (22:00) are on the same calendar day.
  if (come >= evening || (come < byDay.from && go >= evening)) return "night"
  return come < byDay.from ? "early" : "late"
}

/** Returns parameters with which `people` simulated employees come as often as those in the log. */
export const officeFit = (members: Members, people: number) => {
  const each = [...Map.groupBy(members.days, ({ person }) => person).values()]
  const byShift = Map.groupBy(each, shiftOf)
  const daysOf = (shift: Shift) => byShift.get(shift) ?? []
  const known = Math.max(1, each.length)
  const [early, late, night] = (["early", "late", "night"] as const).map((shift) => daysOf(shift).length / known)
  const days = daysOf("day").flat()
  const byDayPeople = Math.max(1, (people * daysOf("day").length) / known)
  const present = presence({ ...members, days })
  const week = byWeekday(present)
  const attendance = Object.fromEntries(Object.entries(week).map(([name, value]) => [name, share(value / byDayPeople)]))
  const inShifts = (people * (each.length - daysOf("day").length)) / known
  const shiftDays = members.days.length - days.length
  const working = days.filter(isWorking)
  const outer = outerDoors(working)
  const firsts = working.flatMap(({ entries }) => {
    const [first] = entries
    return first !== undefined && outer.has(first.door) ? [first] : []
  })
  const lasts = working.flatMap(({ entries }) => {
    const [first, last] = [entries[0], entries.at(-1)]
    return first !== undefined && last !== undefined && outer.has(last.door) && last.time - first.time > 3 * hour
      ? [last.clock]
      : []
  })
  const hasExits = lasts.length > working.length / 2
  const lunches = working.flatMap((day) => lunchOf(day, outer) ?? [])
  const inner = mean(working.map(({ entries }) => entries.filter(({ door }) => !outer.has(door)).length))
  const lunchShare = lunches.length / Math.max(1, working.length)
  return {
    turnstiles: hasExits,
    employees: {
      attendance,
      day_variation: Math.min(
        1,
        dayVariation(present, (centre) => centre * (1 - centre / byDayPeople))
      ),
      ...(firsts.length > 0 && {
        arrives: clockTime(firsts.map(({ clock }) => clock)),
        arrival_groups: groupShare(firsts)
      }),
      ...(hasExits && { leaves: clockTime(lasts) }),
      ...(hasExits &&
        lunches.length >= 20 && {
          lunch: {
            ...clockTime(lunches.map(({ out }) => out.clock)),
            share: share(lunchShare),
            duration: lognormalFit(lunches.map(({ minutes }) => minutes * 60_000)),
            groups: groupShare(lunches.map(({ out }) => out))
          }
        }),
      shifts: {
        early: share(early ?? 0),
        late: share(late ?? 0),
        night: share(night ?? 0),
        ...(inShifts > 0 && { attendance: share(shiftDays / inShifts / Math.max(1, members.calendar.length)) })
      },
      floor_uses: rounded(Math.max(0, inner - 1 - lunchShare), 2),
      denied: { share: share(members.denied / Math.max(1, members.attempts), 0.9) },
      other_method: members.otherMethod
    }
  }
}
