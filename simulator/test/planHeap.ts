/**
 * Plans DAYS days of a hundred buildings. Usage: `planHeap.ts DAYS`. Every five days, collects garbage and measures the
 * heap in use. Prints the sizes as one line of JSON.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { lineChunks, LocalTime, readScenario } from "@doorhook/simulator"
import { Result } from "effect"

const buildings = [
  { name: "House", copies: 60, homes: { flats: 25 }, time_zone: "Europe/Berlin" },
  { name: "Office", copies: 40, offices: { employees: 40, companies: 3 }, time_zone: "America/New_York" }
]
const scenario = Result.getOrThrow(readScenario(JSON.stringify({ name: "hundred", buildings })))
const days = Number(process.argv[2] ?? "30")

// Replaces the command-line flag `--expose-gc`.
setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const start = Date.UTC(2026, 2, 2)
let events = 0
let next = 5
const used: Array<number> = []
for (const chunk of lineChunks(
  scenario,
  { seed: 1, start: LocalTime.LocalTime.make(start), duration: days * LocalTime.dayMillis },
  ({ at }) => {
    if (at < start + next * LocalTime.dayMillis) return
    next += 5
    collect()
    used.push(process.memoryUsage().heapUsed)
  }
)) {
  events += chunk.events
}
collect()
used.push(process.memoryUsage().heapUsed)
process.stdout.write(JSON.stringify({ events, used }))
