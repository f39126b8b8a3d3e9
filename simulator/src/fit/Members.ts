/**
 * The members in a log: who they are, their days, and how they open doors.
 */
import type { AccessLog, LogEntry } from "./AccessLog.ts"
import { share } from "./Estimates.ts"

/** One day of one member, with all entries that were not denied, in order. */
export interface MemberDay {
  readonly person: string
  readonly day: number
  readonly entries: ReadonlyArray<LogEntry>
}

export interface Members {
  readonly people: ReadonlyArray<string>
  readonly days: ReadonlyArray<MemberDay>
  /** Every calendar day from the first to the last of the log. */
  readonly calendar: ReadonlyArray<number>
  /** Entries with a code by people who are not members. */
  readonly codes: ReadonlyArray<LogEntry>
  readonly denied: number
  readonly attempts: number
  readonly methods: { readonly swipe_to_open: number; readonly pin: number; readonly qr_code: number }
  /** Share of PIN entries among all entries of people who usually open in another way. */
  readonly otherMethod: number
}

const keyOf = ({ person, unit }: LogEntry): string => `${person} ${unit}`

export const membersOf = ({ entries }: AccessLog): Members => {
  const first = entries[0]?.day ?? 0
  const last = entries.at(-1)?.day ?? 0
  const calendar = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  // An opening from the app lets somebody else in, so it shows nothing about the day of the app's user.
  const own = entries.filter(({ isCall, method, person }) => !isCall && method !== "app" && person !== "")
  const byPerson = Map.groupBy(own, keyOf)
  const codes: Array<LogEntry> = []
  const people: Array<string> = []
  const days: Array<MemberDay> = []
  let [denied, attempts, usual, other] = [0, 0, 0, 0]
  const methods = { swipe_to_open: 0, pin: 0, qr_code: 0 }
  for (const [person, all] of byPerson) {
    const daysSeen = Map.groupBy(
      all.filter(({ isDenied }) => !isDenied),
      ({ day }) => day
    )
    // A person with a code who came on only one day, in a log of at least a week, is a guest.
    const isGuest =
      all.some(({ isDelivery }) => isDelivery) ||
      (calendar.length >= 7 &&
        daysSeen.size <= 1 &&
        all.every(({ method }) => method === "pin" || method === "qr_code"))
    if (isGuest) {
      codes.push(...all)
      continue
    }
    people.push(person)
    attempts += all.length
    denied += all.filter(({ isDenied }) => isDenied).length
    for (const [day, entries] of daysSeen) days.push({ person, day, entries })
    const pins = all.filter(({ method }) => method === "pin").length
    const codesShown = all.filter(({ method }) => method === "qr_code").length
    if (pins > all.length / 2) methods.pin++
    else {
      if (codesShown > all.length / 2) methods.qr_code++
      else methods.swipe_to_open++
      usual += all.length
      other += pins
    }
  }
  return {
    people,
    days,
    calendar,
    codes: codes.toSorted((a, b) => a.time - b.time),
    denied,
    attempts,
    methods: {
      swipe_to_open: share(methods.swipe_to_open / Math.max(1, people.length)),
      pin: share(methods.pin / Math.max(1, people.length)),
      qr_code: share(methods.qr_code / Math.max(1, people.length))
    },
    otherMethod: share(other / Math.max(1, usual))
  }
}

/** Returns the number of members who came on each calendar day. */
export const presence = ({ calendar, days }: Members): ReadonlyMap<number, number> => {
  const counts = new Map(calendar.map((day) => [day, 0]))
  for (const { day } of days) counts.set(day, (counts.get(day) ?? 0) + 1)
  return counts
}
