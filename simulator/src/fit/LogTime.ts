/**
 * Times as access logs write them.
 */
import { dayNumberOf, monthLength } from "../world/CalendarDate.ts"
import { dayMillis, hour, minute, second } from "../world/LocalTime.ts"
import { instantAt } from "../world/zones/TimeZone.ts"

export const expectedTime =
  "a time like 2026-03-02T07:30:00Z, 2026-03-02 07:30:00, 02.03.2026 07:30, 03/02/2026 07:30 AM, or seconds since 1970"

const iso =
  /^(?<year>\d{4})[-/](?<month>\d{1,2})[-/](?<day>\d{1,2})[T ]+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)\s*(?<zone>Z|UTC|[+-]\d{2}:?\d{2})?$/i
const dotted = /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4}),?\s+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)$/
const slashed =
  /^(?<first>\d{1,2})\/(?<second>\d{1,2})\/(?<year>\d{4}),?\s+(?<time>\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?)\s*(?<half>[AP]M)?$/i

const timeOf = (text: string, half: string | undefined): number | null => {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(",", ".").split(":").map(Number)
  if (hours > 23 || minutes > 59 || seconds >= 60) return null
  if (half !== undefined && (hours < 1 || hours > 12)) return null
  const shown = half === undefined ? hours : (hours % 12) + (half.toUpperCase() === "PM" ? 12 : 0)
  return shown * hour + minutes * minute + Math.round(seconds * second)
}

/** What comes first in dates like 03/02/2026. */
export type DateOrder = "month-first" | "day-first"

/** Which order all of these dates can have: one, both where nobody can tell, none where they contradict each other. */
export const ordersOf = (texts: Iterable<string>): ReadonlyArray<DateOrder> => {
  let [isMonthFirst, isDayFirst] = [true, true]
  for (const text of texts) {
    const { first, second: other } = slashed.exec(text)?.groups ?? {}
    // What fits neither is no date, and says nothing of the others.
    if (Number(first) > 12 && Number(other) > 12) continue
    if (Number(first) > 12) isMonthFirst = false
    if (Number(other) > 12) isDayFirst = false
  }
  return [...(isMonthFirst ? (["month-first"] as const) : []), ...(isDayFirst ? (["day-first"] as const) : [])]
}

/** Whether a date is written in the way that has an order. */
export const hasOrder = (text: string): boolean => slashed.test(text)

/** The instant that a text means, in milliseconds since the epoch; without an offset it is in the zone. */
export const readTime = (text: string, zone: string, order: DateOrder = "month-first"): number | null => {
  if (/^\d{9,10}(\.\d+)?$/.test(text)) return Math.round(Number(text) * second)
  if (/^\d{12,13}$/.test(text)) return Number(text)
  const found = (iso.exec(text) ?? dotted.exec(text) ?? slashed.exec(text))?.groups
  if (found === undefined) return null
  const [first, other] = order === "day-first" ? [found["second"], found["first"]] : [found["first"], found["second"]]
  const [year, month, day] = [Number(found["year"]), Number(found["month"] ?? first), Number(found["day"] ?? other)]
  if (year < 2000 || year > 2078 || month < 1 || month > 12 || day < 1 || day > monthLength(year, month)) return null
  const time = timeOf(found["time"] ?? "", found["half"])
  if (time === null) return null
  const wall = dayNumberOf({ year, month, day }) * dayMillis + time
  const offset = found["zone"]
  if (offset === undefined) return instantAt(wall, zone)
  const digits = offset.replace(":", "")
  if (!/^[+-]/.test(digits)) return wall
  const ahead = Number(digits.slice(1, 3)) * hour + Number(digits.slice(3, 5)) * minute
  return digits.startsWith("-") ? wall + ahead : wall - ahead
}
