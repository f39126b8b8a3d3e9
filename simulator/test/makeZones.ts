/**
 * Generates the table of time zones, which zones.test.ts compares with the runtime, from the data of the running
 * Node.js: `node --conditions=source simulator/test/makeZones.ts`.
 *
 * If all changes of a zone follow a rule from some year on, the table has the rule instead of these changes.
 */
import { writeFileSync } from "node:fs"
import { dateOf, weekdayOf } from "../src/world/CalendarDate.ts"
import type { TimeZone } from "../src/world/zones/TimeZone.ts"
import { fromRuntime, lastYear } from "../src/world/zones/TimeZone.ts"

const minute = 60_000
const dayMillis = 86_400_000

/** A change of the UTC offset: the local time before the change, and the new offset in minutes. */
interface Change {
  readonly at: number
  readonly year: number
  readonly month: number
  readonly day: number
  readonly weekday: number
  readonly time: number
  readonly after: number
}

const changesOf = ({ changes, offsets }: TimeZone): ReadonlyArray<Change> =>
  changes.map((at, place) => {
    // A change at midnight counts as 24:00 of the previous day.
    const wall = at + (offsets[place] ?? 0) - minute
    const number = Math.floor(wall / dayMillis)
    const time = (wall - number * dayMillis) / minute + 1
    return { at, ...dateOf(number), weekday: weekdayOf(number), time, after: (offsets[place + 1] ?? 0) / minute }
  })

const sameRule = (a: Change, b: Change): boolean =>
  a.month === b.month && a.weekday === b.weekday && a.time === b.time && a.after === b.after

/** Returns how many changes to list, and the rule for later ones. */
const ruleOf = (changes: ReadonlyArray<Change>): { readonly explicit: number; readonly rules: string } => {
  const none = { explicit: changes.length, rules: "" }
  const yearly = changes.filter(({ year }) => year === lastYear - 1)
  if (yearly.length !== 2) return none
  const days: ReadonlyArray<Array<number>> = [[], []]
  let since = changes.length
  for (; since > 0; since--) {
    const change = changes[since - 1]
    const own = days[yearly.findIndex((rule) => change !== undefined && sameRule(rule, change))]
    if (change === undefined || own === undefined) break
    if (Math.max(change.day, ...own) - Math.min(change.day, ...own) > 6) break
    own.push(change.day)
  }
  // A rule covers whole years, so changes in the rule's first, partial year are listed.
  const whole = (changes[since]?.year ?? 0) + 1
  const explicit = changes.findIndex(({ year }) => year >= whole)
  if (explicit <= 0) return none
  const rules = yearly.map(({ after, month, time, weekday }, place) =>
    [month, Math.min(...(days[place] ?? [])), weekday, time, after].join(",")
  )
  return { explicit, rules: rules.join(";") }
}

const textOf = (name: string): string => {
  const zone = fromRuntime(name)
  const changes = changesOf(zone)
  const { explicit, rules } = ruleOf(changes)
  const written = changes.slice(0, explicit).map(({ after, at }) => `${(at / minute).toString(36)}:${after}`)
  return `${(zone.offsets[0] ?? 0) / minute}|${written.join(" ")}|${rules}`
}

/** Other common names. */
const links = [
  "UTC",
  "Etc/UTC",
  "GMT",
  "Asia/Kolkata",
  "Asia/Ho_Chi_Minh",
  "Asia/Kathmandu",
  "Asia/Yangon",
  "Europe/Kyiv",
  "America/Argentina/Buenos_Aires",
  "America/Indiana/Indianapolis",
  "America/Kentucky/Louisville",
  "America/Nuuk",
  "Atlantic/Faroe",
  "Pacific/Chuuk",
  "Pacific/Pohnpei",
  "Pacific/Kanton",
  "Africa/Asmara"
]

const names = [...new Set([...Intl.supportedValuesOf("timeZone"), ...links])].toSorted()
const byText = new Map<string, string>()
const zones: Record<string, string> = {}
const aliases: Record<string, string> = {}
for (const name of names) {
  const text = textOf(name)
  const same = byText.get(text)
  if (same === undefined) {
    byText.set(text, name)
    zones[name] = text
  } else aliases[name] = same
}

writeFileSync(
  new URL("../src/world/zones/zones.json", import.meta.url),
  `${JSON.stringify({ edition: process.versions["tz"], zones, aliases }, null, 2)}\n`
)
