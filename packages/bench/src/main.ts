/**
 * `npm run bench` and `--help` list the benchmarks; `npm run bench -- NAME` runs one and ends its output with results
 * as JSON.
 *
 * - `--all` runs all benchmarks.
 * - `--write` stores the results and regenerates `docs/measurements.md`. As the only argument, it only regenerates the
 *   page.
 * - `--quick` uses small sizes, to check that the benchmarks run.
 * - `--rounds N` sets the number of rounds, `--rows N` the rows of `growth`, `drain-due`, `lists` and `move`, `--per-second N` the events per
 *   second of `long-life`.
 */
import type { Benchmark } from "./harness/Benchmark.ts"
import { benchmarkNames, loadBenchmark, readOptions } from "./harness/Benchmark.ts"
import { measure, writePage } from "./measure.ts"

const goalsOf = ({ lines }: Benchmark): string =>
  Object.values(lines)
    .flatMap(({ goal }) => (goal === null ? [] : `${goal.is} ${goal.ratio}`))
    .join(", ")

const list = async (): Promise<void> => {
  for (const name of benchmarkNames) {
    const benchmark = await loadBenchmark(name)
    process.stdout.write(`${name.padEnd(18)} ${benchmark.summary}; goal ${goalsOf(benchmark)}\n`)
  }
  process.stdout.write(
    "\nnpm run bench -- NAME [--quick] [--rounds N] [--rows N] [--per-second N] [--write], or --all in place of NAME\n"
  )
}

const refuse = (message: string): number => {
  process.stderr.write(`${message}\n`)
  return 3
}

const main = async (given: ReadonlyArray<string>): Promise<number> => {
  if (given.length === 0 || given.includes("--help") || given.includes("-h")) {
    await list()
    return 0
  }
  if (given.join() === "--write") {
    await writePage()
    return 0
  }
  const [name = "", ...others] = given
  if (name !== "--all" && !benchmarkNames.includes(name)) {
    return refuse(`There is no benchmark ${JSON.stringify(name)}; use --all or one of ${benchmarkNames.join(", ")}.`)
  }
  const write = others.includes("--write")
  const args = others.filter((arg) => arg !== "--write")
  try {
    const { quick } = readOptions(args)
    if (write && quick) return refuse("--write stores only real measurements: leave out --quick.")
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  return measure(name === "--all" ? benchmarkNames : [name], { args, write })
}

process.exit(await main(process.argv.slice(2)))
