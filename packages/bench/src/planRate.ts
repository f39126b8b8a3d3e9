/**
 * Measures how fast a plan is generated, and how fast the same bytes are written to a file from lines in memory. Usage:
 * `planRate.ts PRESET DAYS RATE_SCALE FILE`. Prints events per second as one line of JSON.
 */
import { closeSync, openSync, writeSync } from "node:fs"
import { lineOf, LocalTime, preset, records } from "@doorhook/simulator"
import type { PlanOptions } from "@doorhook/simulator"
import { Option } from "effect"

const [name = "office-1000", days = "30", rateScale = "1", file = ""] = process.argv.slice(2)

/** 2026-03-02, a Monday. */
const start = LocalTime.LocalTime.make(1_772_409_600_000)

const scenario = Option.getOrThrow(preset(name))
const options: PlanOptions = {
  seed: 1,
  start,
  duration: Number(days) * LocalTime.dayMillis,
  rateScale: Number(rateScale)
}

const secondsOf = (work: () => void): number => {
  const began = performance.now()
  work()
  return (performance.now() - began) / 1_000
}

const generate = (): void => {
  for (const record of records(scenario, options)) if (record.at < 0) throw new RangeError("before 1970")
}

/** Copies of the lines. V8 may store the originals as ropes, whose parts are not yet joined. */
const lines = Array.from(records(scenario, options), (record) => Buffer.from(lineOf(record)).toString())

const write = (): void => {
  const encoder = new TextEncoder()
  const target = openSync(file, "w")
  let text = ""
  for (const line of lines) {
    text += line
    if (text.length < 0x1_0000) continue
    writeSync(target, encoder.encode(text))
    text = ""
  }
  writeSync(target, encoder.encode(text))
  closeSync(target)
}

/** The first round only warms up. */
for (const work of [generate, write]) work()
const rate = (work: () => void): number => lines.length / secondsOf(work)
process.stdout.write(
  JSON.stringify({
    events: lines.length,
    generated: rate(generate),
    written: rate(write)
  })
)
