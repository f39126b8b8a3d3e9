/** Estimates the flows of outsiders from calls, and from entries with a code by people who are not members. */
import { weekdayOf } from "../world/CalendarDate.ts"
import { minute, second } from "../world/LocalTime.ts"
import type { AccessLog, LogEntry } from "./AccessLog.ts"
import { byWeekday, dayVariation, mean, quantile, rounded, shapeFit, share } from "./Estimates.ts"
import { durationText } from "../traffic/Parameter.ts"

/** Usual share of answered calls that open the door. A log doesn't show which calls were answered. */
const usualUnlocked = 0.9

/** Maximum time between two rings of the same visitor. */
const longestRepeat = 110 * second

/** Maximum time from a call to the opening of the door. */
const longestWait = 3 * minute

export interface CallGroup {
  readonly firsts: ReadonlyArray<LogEntry>
  /** Entries with a code by people who lead a group, and the number of people right behind them. */
  readonly codes: ReadonlyArray<LogEntry>
  readonly followers: number
  readonly calls: number
  readonly opened: number
  readonly repeats: number
  readonly waits: ReadonlyArray<number>
}

/** Counts the calls of one kind, and the openings and repeated rings that follow. */
export const callGroup = (
  log: AccessLog,
  isOurs: (entry: LogEntry) => boolean,
  codes: ReadonlyArray<LogEntry>
): CallGroup => {
  const last = new Map<string, { readonly time: number; isOpened: boolean }>()
  const firsts: Array<LogEntry> = []
  const waits: Array<number> = []
  let [calls, opened, repeats] = [0, 0, 0]
  for (const entry of log.entries) {
    const key = log.has.has("unit") ? entry.unit : entry.door
    const before = last.get(key)
    if (entry.isCall) {
      if (!isOurs(entry)) continue
      calls++
      const isRepeat = before !== undefined && !before.isOpened && entry.time - before.time <= longestRepeat
      if (isRepeat) repeats++
      else firsts.push(entry)
      last.set(key, { time: entry.time, isOpened: false })
    } else if (
      entry.method === "app" &&
      before !== undefined &&
      !before.isOpened &&
      entry.time - before.time <= longestWait
    ) {
      before.isOpened = true
      opened++
      waits.push(entry.time - before.time)
    }
  }
  const leaders = codes.filter((entry, index) => {
    const before = codes[index - 1]
    return before === undefined || before.person !== entry.person || entry.time - before.time > 2.5 * second
  })
  return { firsts, codes: leaders, followers: codes.length - leaders.length, calls, opened, repeats, waits }
}

const countByDay = (entries: ReadonlyArray<LogEntry>, days: ReadonlyArray<number>): ReadonlyMap<number, number> => {
  const counts = new Map(days.map((day) => [day, 0]))
  for (const { day } of entries) counts.set(day, (counts.get(day) ?? 0) + 1)
  return counts
}

const isRest = ({ day }: LogEntry): boolean => weekdayOf(day) % 6 === 0

/** Returns the parameters of a flow. The rate is per flat, dweller or employee; `size` is their number. */
export const outsiderFit = (group: CallGroup, days: ReadonlyArray<number>, size: number) => {
  const arrivals = [...group.firsts, ...group.codes]
  const counts = countByDay(arrivals, days)
  const perDay = mean([...counts.values()])
  const week = byWeekday(counts)
  const weekdays = Object.fromEntries(
    Object.entries(week).map(([name, value]) => [name, perDay > 0 ? rounded(value / perDay, 2) : 0])
  )
  const opens = group.calls === 0 ? 0 : group.opened / group.calls
  const unlocked = opens > usualUnlocked ? share(opens) : usualUnlocked
  const answered = share(opens / unlocked)
  const unanswered = group.calls * (1 - answered)
  const [working, resting] = [arrivals.filter((entry) => !isRest(entry)), arrivals.filter(isRest)]
  const qr = group.codes.filter(({ method }) => method === "qr_code").length
  return {
    rate: rounded(perDay / Math.max(1, size), 5),
    weekdays,
    day_variation: Math.min(
      1,
      dayVariation(counts, (centre) => centre)
    ),
    ...(working.length >= 40 && { on_weekdays: shapeFit(working.map(({ clock }) => clock)) }),
    ...(resting.length >= 40 && { on_weekends: shapeFit(resting.map(({ clock }) => clock)) }),
    seasons: [],
    code: share(group.codes.length / Math.max(1, arrivals.length)),
    groups: share(group.followers / Math.max(1, group.followers + group.codes.length), 0.9),
    qr_share: share(qr / Math.max(1, group.codes.length)),
    ...(group.calls >= 30 && {
      answered,
      unlocked,
      repeated: unanswered < 10 ? 0 : share(group.repeats / unanswered)
    }),
    ...(group.waits.length >= 30 && {
      // A wait consists of the time to the answer and the time to the release. The log shows only their sum, so the
      // usual proportion is assumed.
      answer: { median: durationText(Math.max(second, quantile(group.waits, 0.5) * 0.66)), sigma: 0.6 }
    })
  }
}
