/**
 * `simulate preview`: draws the day as a histogram, to be looked at before anything is sent.
 */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import type { PlanOptions } from "../plan/Plan.ts"
import { happenings } from "../plan/Plan.ts"
import { grouped } from "../run/RunText.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import { hourAt } from "../world/LocalDay.ts"
import { planFlags, readPlan } from "./Flags.ts"

/** What happens in one hour of the day, by the clocks of each building, over all days. */
interface HourCount {
  calls: number
  accesses: number
}

const countByHour = (scenario: Scenario, options: PlanOptions): ReadonlyArray<HourCount> => {
  const hours = Array.from({ length: 24 }, (): HourCount => ({ calls: 0, accesses: 0 }))
  const zones = new Map(scenario.buildings.map(({ building }) => [building.id, building.time_zone]))
  for (const { _tag, building_id, time } of happenings(scenario, options)) {
    const count = hours[hourAt(time, zones.get(building_id) ?? "UTC")]
    if (count === undefined) continue
    if (_tag === "Call") count.calls++
    else count.accesses++
  }
  return hours
}

/** The longest bar, in characters. */
const longestBar = 48

/** A table by hour with a bar for each: `o` for calls, `#` for access logs. */
export const drawDay = (hours: ReadonlyArray<HourCount>): string => {
  const most = Math.max(1, ...hours.map(({ calls, accesses }) => calls + accesses))
  const bar = (sign: string, count: number) => sign.repeat(Math.ceil((count * longestBar) / most))
  const row = (hour: string, calls: string, accesses: string, bars: string) =>
    `${hour.padEnd(6)}${calls.padStart(7)}${accesses.padStart(12)}  ${bars}`.trimEnd()
  return [
    row("hour", "call", "access_log", ""),
    ...hours.map(({ calls, accesses }, hour) =>
      row(`${hour}`.padStart(2, "0"), grouped(calls), grouped(accesses), bar("o", calls) + bar("#", accesses))
    )
  ].join("\n")
}

export const previewCommand = Command.make(
  "preview",
  planFlags,
  Effect.fnUntraced(function* (texts) {
    const { scenario, options } = yield* readPlan(texts)
    const hours = countByHour(scenario, options)
    const total = hours.reduce((sum, { calls, accesses }) => sum + calls + accesses, 0)
    yield* Console.log(`${scenario.name}: ${scenario.description}`)
    yield* Console.log(`${grouped(total)} events in ${texts.duration} from ${texts.start}, seed ${texts.seed}\n`)
    yield* Console.log(drawDay(hours))
  })
).pipe(Command.withDescription("Draw the hours of the day with the events of a scenario, without sending them"))
