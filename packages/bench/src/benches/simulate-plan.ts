/**
 * Measures how fast the simulator generates events.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { runProgram } from "../harness/Processes.ts"

const name = "simulate-plan"

const rateProgram = fileURLToPath(new URL("../planRate.ts", import.meta.url))

interface Rates {
  readonly events: number
  readonly generated: number
  readonly written: number
}

const run = Effect.fnUntraced(function* (options: Options) {
  const folder = yield* temporaryFolder
  const file = join(folder, "events.ndjson")
  const rounds = roundsOf(options, 5)
  const [generated, written] = [Array.of<number>(), Array.of<number>()]
  let events = 0
  for (let round = 0; round < rounds; round++) {
    const args = options.quick ? ["quiet", "7", "1"] : ["office-1000", "30", "2"]
    const rates = yield* runProgram<Rates>("the plan", rateProgram, [...args, file])
    generated.push(rates.generated)
    written.push(rates.written)
    events = rates.events
    process.stderr.write(
      `round ${round + 1}: ${Math.round(rates.generated)} events/s generated, ${Math.round(rates.written)}/s written\n`
    )
  }
  return [{ line: name, ours: generated, peer: written, more: { events } }]
})

const peer = "events/s when writing the same lines from memory"

export const benchmark: Benchmark = {
  name,
  minutes: 1,
  summary: "events per second that the simulator generates, against writing the same bytes",
  compares:
    "Thirty days of an office building with 2,000 people (`office-1000` at double rate, about 164,000 events) are generated in order of time. The peer has the same events as lines in memory, encodes them and writes them to a file in chunks of 64 KiB, in the same process.",
  leavesOut: "The disk, and scenarios whose controllers are offline most of the time.",
  lines: {
    [name]: { ours: "events generated/s", peer, unit: "1/s", goal: { is: "at least", ratio: 0.7 } }
  },
  run
}
