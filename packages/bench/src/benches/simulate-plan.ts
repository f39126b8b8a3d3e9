/**
 * Measures how fast the simulator generates events, and whether long plans take more memory than short ones.
 */
import { Effect } from "effect"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Benchmark } from "../harness/Benchmark.ts"
import type { Options } from "../harness/Options.ts"
import { roundsOf } from "../harness/Options.ts"
import { runProgram } from "../harness/RunProgram.ts"
import { rounded } from "../harness/Statistics.ts"
import { temporaryFolder } from "../harness/TemporaryFile.ts"

const name = "simulate-plan"

const rateProgram = fileURLToPath(new URL("../planRate.ts", import.meta.url))
const heapProgram = fileURLToPath(new URL("../planHeap.ts", import.meta.url))

interface Rates {
  readonly events: number
  readonly generated: number
  readonly planned: number
  readonly written: number
}

interface Heap {
  readonly events: number
  /** Bytes of heap in use after every five days of the plan. */
  readonly used: ReadonlyArray<number>
}

const megabytes = (bytes: number): number => bytes / 1_000_000

const run = Effect.fnUntraced(function* (options: Options) {
  const folder = yield* temporaryFolder
  const file = join(folder, "events.ndjson")
  const rounds = roundsOf(options, 5)
  const [generated, planned, written] = [Array.of<number>(), Array.of<number>(), Array.of<number>()]
  let events = 0
  for (let round = 0; round < rounds; round++) {
    const args = options.quick ? ["quiet", "7", "1"] : ["office-1000", "30", "2"]
    const rates = yield* runProgram<Rates>("the plan", rateProgram, [...args, file])
    generated.push(rates.generated)
    planned.push(rates.planned)
    written.push(rates.written)
    events = rates.events
    process.stderr.write(
      `round ${round + 1}: ${Math.round(rates.generated)} events/s generated, ${Math.round(rates.planned)}/s to a file, ${Math.round(rates.written)}/s written\n`
    )
  }
  const heap = yield* runProgram<Heap>("the long plan", heapProgram, options.quick ? ["10"] : ["30"])
  const [first = 0] = heap.used
  return [
    { line: name, ours: generated, peer: written, more: { events } },
    { line: `${name}/file`, ours: planned, peer: written },
    {
      line: `${name}/memory`,
      ours: [megabytes(heap.used.at(-1) ?? 0)],
      peer: [megabytes(first)],
      more: { events: heap.events, most_mb: rounded(megabytes(Math.max(...heap.used))) }
    }
  ]
})

const peer = "events/s when writing the same lines from memory"

export const benchmark: Benchmark = {
  name,
  minutes: 1,
  summary: "events per second that the simulator generates, against writing the same bytes",
  compares:
    "Thirty days of an office building with 2,000 people (`office-1000` at double rate, about 164,000 events) are generated in order of time. The peer has the same events as lines in memory, encodes them and writes them to a file in chunks of 64 KiB, in the same process. `simulate-plan/file` measures all of `simulate plan`, including writing the file. The memory line compares the heap after thirty days of a hundred buildings with the heap after five days, both after garbage collection.",
  leavesOut: "The disk, and scenarios whose controllers are offline most of the time.",
  lines: {
    [name]: { ours: "events generated/s", peer, unit: "1/s", goal: { is: "at least", ratio: 0.7 } },
    [`${name}/file`]: { ours: "events planned and written/s", peer, unit: "1/s", goal: null },
    [`${name}/memory`]: {
      ours: "MB in use after 30 days of 100 buildings",
      peer: "MB in use after 5 days of 100 buildings",
      unit: "MB",
      goal: { is: "at most", ratio: 1.1 }
    }
  },
  run
}
