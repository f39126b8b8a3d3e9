/**
 * Measures the memory that a backlog takes.
 */
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { runProgram, startReceiver } from "../harness/Processes.ts"
import { rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "memory"

/** Allowed growth of resident memory by the backlog, in megabytes. */
const allowed = 120

const program = fileURLToPath(new URL("../hold.ts", import.meta.url))

interface Answer {
  readonly idle: number
  readonly loaded: number
  readonly peak: number
  readonly waiting: number
}

const hold = Effect.fnUntraced(function* (file: string, livePort: number, count: number, rest: number) {
  const deadPort = yield* Effect.promise(freePort)
  return yield* runProgram<Answer>("the engine", program, [file, livePort, deadPort, count, rest].map(String))
})

const run = Effect.fnUntraced(function* ({ quick }: Options) {
  const port = yield* startReceiver()
  const file = yield* temporaryDatabase
  const { idle, loaded, peak, waiting } = yield* quick
    ? hold(file, port, 10_000, 500)
    : hold(file, port, 1_000_000, 10_000)
  process.stderr.write(
    `${rounded(idle)} MB idle, ${rounded(loaded)} MB with ${waiting} waiting, ${rounded(peak)} MB at most\n`
  )
  const more = { idle_mb: rounded(idle), loaded_mb: rounded(loaded), peak_mb: rounded(peak), waiting }
  return [{ line: name, ours: [loaded - idle], peer: [allowed], more }]
})

export const benchmark: Benchmark = {
  name,
  minutes: 2,
  summary: "resident memory with 1 million deliveries waiting, against idle",
  compares:
    "A process with the engine on SQLite delivers 20,000 events and is then idle for ten seconds. Then 1,000,000 events are published for 16 integrations whose receiver refuses connections. After another ten idle seconds, the resident memory of the process is compared with its memory after the first ten.",
  leavesOut: "Receivers that hold their connections open, and the system's file cache.",
  notes:
    "A million waiting deliveries add 82 MB of resident memory, of which 12 MB are still in use after a garbage collection. The command starts V8 with `--heap-growing-percent=100`, which saves 110 MB; an embedding host can set that flag.",
  lines: {
    [name]: {
      ours: "MB more than when idle",
      peer: `the allowed ${allowed} MB`,
      unit: "MB",
      goal: { is: "at most", ratio: 1 }
    }
  },
  run
}
