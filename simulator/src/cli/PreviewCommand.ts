/** `simulate preview`: draws the day of a scenario without sending anything. */
import { columns } from "@doorhook/core"
import { Console, Effect, Terminal } from "effect"
import { Command } from "effect/cli"
import type { PlanOptions } from "../plan/Plan.ts"
import { forEachRecord } from "../plan/Plan.ts"
import type { Recorded } from "../plan/Devices.ts"
import { grouped } from "../results/Format.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { zonesOf } from "../scenario/Scenario.ts"
import { weekdayOf } from "../world/CalendarDate.ts"
import { dayNumberAt, hourAt } from "../world/LocalDay.ts"
import { dayMillis } from "../world/LocalTime.ts"
import { planFlags, readPlan } from "./Flags.ts"

/** Number of events in one hour of the day, in local time of each building, over all days. */
interface HourCount {
  calls: number
  accesses: number
}

const weekdayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const

/** Counts of a plan's events by hour, weekday, flow, entry method and label. */
class Tally {
  readonly hours = Array.from({ length: 24 }, (): HourCount => ({ calls: 0, accesses: 0 }))
  readonly weekdays = new Map<number, number>()
  readonly flows = new Map<string, number>()
  readonly methods = new Map<string, number>()
  readonly labels = new Map<string, number>()
  late = 0
  total = 0

  add({ at, occurrence }: Recorded, zone: string): void {
    this.total++
    const { flow, label, time } = occurrence
    const hour = this.hours[hourAt(time, zone)]
    if (hour !== undefined) {
      if (occurrence._tag === "Call") hour.calls++
      else hour.accesses++
    }
    const grow = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
    const weekday = weekdayOf(dayNumberAt(time, zone))
    this.weekdays.set(weekday, (this.weekdays.get(weekday) ?? 0) + 1)
    grow(this.flows, flow)
    if (occurrence._tag === "Access") grow(this.methods, occurrence.entry_method)
    if (label !== null) grow(this.labels, label)
    if (at !== time) this.late++
  }
}

const tallyOf = Effect.fnUntraced(function* (scenario: Scenario, options: PlanOptions) {
  const tally = new Tally()
  const zoneOf = zonesOf(scenario)
  yield* forEachRecord(scenario, options, (record) => {
    tally.add(record, zoneOf(record.occurrence.building_id))
  })
  return tally
})

/** Maximum length of a bar, and maximum width of the columns before it, in characters. */
const longestBar = 48
const columnsBefore = 27

/** Draws a table with a bar for each hour: `o` for calls, `#` for access logs. */
export const drawDay = (hours: ReadonlyArray<HourCount>, width = columnsBefore + longestBar): string => {
  const room = Math.max(0, Math.min(longestBar, width - columnsBefore))
  const most = Math.max(1, ...hours.map(({ calls, accesses }) => calls + accesses))
  // The `#` fill the rest of the bar, so that rounding does not make the bar longer.
  const bar = ({ calls, accesses }: HourCount) => {
    const length = Math.ceil(((calls + accesses) * room) / most)
    const rings = Math.round((calls * length) / Math.max(1, calls + accesses))
    return "o".repeat(rings) + "#".repeat(length - rings)
  }
  return columns(
    [
      ["hour", "call", "access_log", ""],
      ...hours.map((count, hour) => [
        `${hour}`.padStart(2, "0"),
        grouped(count.calls),
        grouped(count.accesses),
        bar(count)
      ])
    ],
    [1, 2]
  ).join("\n")
}

/** Lists counts on lines that wrap between entries, the largest first. */
const listed = (title: string, counts: ReadonlyMap<string, number>, width: number): ReadonlyArray<string> => {
  if (counts.size === 0) return []
  const lines = [title.padEnd(10)]
  for (const [name, count] of [...counts].toSorted(([, a], [, b]) => b - a)) {
    const entry = ` ${name} ${grouped(count)}`
    const line = lines.at(-1) ?? ""
    if (line.length + entry.length > width && line.trim() !== "") lines.push(`${" ".repeat(10)}${entry}`)
    else lines[lines.length - 1] = line + entry
  }
  return lines
}

export const previewCommand = Command.make(
  "preview",
  planFlags,
  Effect.fnUntraced(function* (texts) {
    const { scenario, options } = yield* readPlan(texts)
    const terminal = yield* Terminal.Terminal
    const known = yield* terminal.columns
    const width = known > 0 ? known : 80
    const tally = yield* tallyOf(scenario, options)
    yield* Console.log(`${scenario.name}: ${scenario.description}`)
    yield* Console.log(`${grouped(tally.total)} events in ${texts.duration} from ${texts.start}, seed ${texts.seed}\n`)
    yield* Console.log(drawDay(tally.hours, width))
    const days = [1, 2, 3, 4, 5, 6, 0].flatMap((weekday) => {
      const count = tally.weekdays.get(weekday)
      return count === undefined ? [] : [[weekdayNames[weekday] ?? "", count] as const]
    })
    const lines = [
      ...(options.duration > dayMillis
        ? [`${"weekdays".padEnd(10)} ${days.map(([name, count]) => `${name} ${grouped(count)}`).join(" ")}`]
        : []),
      ...listed("flows", tally.flows, width),
      ...listed("opened by", tally.methods, width),
      ...listed("labels", tally.labels, width),
      ...(tally.late === 0 ? [] : [`${"sent late".padEnd(10)} ${grouped(tally.late)}`])
    ]
    yield* Console.log(`\n${lines.join("\n")}`)
  })
).pipe(
  Command.withDescription("Draw the events of a scenario by hour of the day, without sending them"),
  Command.withExamples([
    {
      command: "doorhook simulate preview --preset mixed-use",
      description: "A Monday in a building with shops and flats"
    }
  ])
)
