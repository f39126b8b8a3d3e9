/**
 * Makes `ZoneTable.ts` from the time-zone data of the running Node.js: `node --conditions=source generate.ts`.
 *
 * Where the changes of all later years follow one rule, the rule is written instead of them.
 */
import { writeFileSync } from "node:fs"
import { dateOf, weekdayOf } from "../CalendarDate.ts"

const minute = 60_000
const dayMillis = 86_400_000
const [from, until] = [Date.UTC(2000, 0, 1), Date.UTC(2091, 0, 1)]

const offsetReader = (zone: string) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    calendar: "gregory",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric"
  })
  return (instant: number): number => {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute: minutes = 0 } = parts
    return (Date.UTC(year, month - 1, day, hour, minutes) - Math.floor(instant / minute) * minute) / minute
  }
}

interface Change {
  readonly at: number
  readonly before: number
  readonly after: number
}

const changesOf = (zone: string): { readonly first: number; readonly changes: ReadonlyArray<Change> } => {
  const offset = offsetReader(zone)
  const changes: Array<Change> = []
  let before = offset(from)
  const first = before
  // Changes of two weeks apart or less (Morocco's Ramadan is four) do not exist in these years.
  const step = 7 * dayMillis
  for (let low = from; low < until; low += step) {
    if (offset(low + step) === before) continue
    let [left, right] = [low, low + step]
    while (right - left > minute) {
      const middle = Math.floor((left + right) / 2 / minute) * minute
      if (offset(middle) === before) left = middle
      else right = middle
    }
    const after = offset(right)
    changes.push({ at: right, before, after })
    before = after
  }
  return { first, changes }
}

/** What is the same in every year of a rule, but for the day of the month. */
const signature = ({ at, before, after }: Change) => {
  // A change at midnight belongs to the day that ends with it.
  const wall = at + before * minute - minute
  const number = Math.floor(wall / dayMillis)
  const { month, day } = dateOf(number)
  const time = (wall - number * dayMillis) / minute + 1
  return { month, day, weekday: weekdayOf(number), time, after }
}

const sameRule = (a: Change, b: Change): boolean => {
  const [x, y] = [signature(a), signature(b)]
  return x.month === y.month && x.weekday === y.weekday && x.time === y.time && x.after === y.after
}

/** The rule of the last changes, and from which change on it holds. */
const ruleOf = (changes: ReadonlyArray<Change>): { readonly since: number; readonly rules: string } | null => {
  const lastYear = changes.filter(({ at }) => at >= Date.UTC(2089, 0, 1) && at < Date.UTC(2090, 0, 1))
  if (lastYear.length !== 2) return null
  let since = changes.length
  const days: ReadonlyArray<Array<number>> = [[], []]
  while (since > 0) {
    const change = changes[since - 1]
    const place = lastYear.findIndex((rule) => change !== undefined && sameRule(rule, change))
    const own = days[place]
    if (change === undefined || own === undefined) break
    const { day } = signature(change)
    if (Math.max(day, ...own) - Math.min(day, ...own) > 6) break
    own.push(day)
    since--
  }
  // A rule holds for whole years: the year in which it begins is written out.
  const first = changes[since]
  const whole = first === undefined ? 0 : dateOf(Math.floor(first.at / dayMillis)).year + 1
  since = changes.findIndex(({ at }) => dateOf(Math.floor(at / dayMillis)).year >= whole)
  if (since <= 0) return null
  const rules = lastYear.map((change, place) => {
    const { month, weekday, time, after } = signature(change)
    return [month, Math.min(...(days[place] ?? [])), weekday, time, after].join(",")
  })
  return { since, rules: rules.join(";") }
}

const textOf = (zone: string): string => {
  const { first, changes } = changesOf(zone)
  const rule = ruleOf(changes)
  const explicit = (rule === null ? changes : changes.slice(0, rule.since)).map(
    ({ at, after }) => `${(at / minute).toString(36)}:${after}`
  )
  return `${first}|${explicit.join(" ")}|${rule?.rules ?? ""}`
}

/** Other names that people write. */
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
const zones: Array<string> = []
const aliases: Array<string> = []
for (const name of names) {
  const text = textOf(name)
  const same = byText.get(text)
  if (same === undefined) {
    byText.set(text, name)
    zones.push(`  ${JSON.stringify(name)}: ${JSON.stringify(text)}`)
  } else aliases.push(`  ${JSON.stringify(name)}: ${JSON.stringify(same)}`)
}

writeFileSync(
  new URL("ZoneTable.ts", import.meta.url),
  `/**
 * Time zones of the IANA database, edition ${process.versions.tz}, for the years 2000 to 2090. Made by \`generate.ts\`.
 */

/** The edition of the database. */
export const edition = ${JSON.stringify(process.versions.tz)}

/** The offset in 2000, changes, yearly rules: in the form that \`TimeZone.ts\` reads. */
export const zones: Readonly<Record<string, string>> = {
${zones.join(",\n")}
}

/** Zones whose clocks have shown the same as those of another since 2000. */
export const aliases: Readonly<Record<string, string>> = {
${aliases.join(",\n")}
}
`
)
