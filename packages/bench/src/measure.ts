/**
 * Runs benchmarks one after the other, each in a process of its own; keeps their results and makes
 * `docs/measurements.md` of them.
 */
import { DateTime, Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import type { Benchmark, Result } from "./harness/Benchmark.ts"
import { benchmarkNames, loadBenchmark } from "./harness/Catalog.ts"
import { describeMachine } from "./harness/Machine.ts"
import type { Measured } from "./harness/Page.ts"
import { handWrittenOf, pageOf } from "./harness/Page.ts"

const program = fileURLToPath(new URL("run.ts", import.meta.url))
const resultsFile = new URL("../results.jsonl", import.meta.url)
const pageFile = new URL("../../../docs/measurements.md", import.meta.url)

/** How long one may take: several times as long as it takes where nothing else runs. In milliseconds. */
const patienceFor = ({ minutes }: Benchmark): number => (3 * minutes + 2) * 60_000

/** Runs one, shows what it prints, and answers its results, or what happened to it. */
const runOne = async (
  benchmark: Benchmark,
  args: ReadonlyArray<string>,
  patience: number | null
): Promise<ReadonlyArray<Result> | string> => {
  const child = spawn(process.execPath, ["--conditions=source", program, benchmark.name, ...args], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  // On this signal it takes its servers and files with it.
  const stop = patience === null ? null : setTimeout(() => child.kill("SIGTERM"), patience)
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "close")])
  if (stop !== null) clearTimeout(stop)
  process.stdout.write(printed)
  if (code === 143 && patience !== null) return `it was stopped after ${patience / 60_000} minutes`
  if (code !== 0) return `its process ended with code ${code}`
  const results: ReadonlyArray<Result> = printed
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
  return results
}

/** One line for each benchmark, in the order of their names. */
const readResults = (): ReadonlyArray<Measured> =>
  existsSync(resultsFile)
    ? readFileSync(resultsFile, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
    : []

const keep = (measured: Measured): void => {
  const others = readResults().filter(({ benchmark }) => benchmark !== measured.benchmark)
  const lines = [...others, measured]
    .toSorted((a, b) => a.benchmark.localeCompare(b.benchmark))
    .map((one) => `${JSON.stringify(one)}\n`)
  writeFileSync(resultsFile, lines.join(""))
}

/** Keeps what was measured before, and that the last run failed. */
const keepFailure = (benchmark: string, failed: { readonly on: string; readonly message: string }): void => {
  const before = readResults().find((one) => one.benchmark === benchmark)
  keep({ benchmark, on: failed.on, machine: "", results: [], ...before, failed })
}

/** Makes the page of the results that are kept; what was written by hand stays. */
export const writePage = async (): Promise<void> => {
  const before = existsSync(pageFile) ? readFileSync(pageFile, "utf8") : ""
  const benchmarks = await Promise.all(benchmarkNames.map(loadBenchmark))
  writeFileSync(pageFile, pageOf(benchmarks, readResults(), handWrittenOf(before)))
}

/** Runs some, and writes the page when asked to: results of those that are not run stay. Answers the exit code. */
export const measure = async (
  names: ReadonlyArray<string>,
  { args, write }: { readonly args: ReadonlyArray<string>; readonly write: boolean }
): Promise<number> => {
  const benchmarks = await Promise.all(names.map(loadBenchmark))
  const failed: Array<string> = []
  const machine = write ? await Effect.runPromise(describeMachine) : ""
  for (const [index, benchmark] of benchmarks.entries()) {
    const { minutes, name } = benchmark
    const alone = benchmarks.length === 1
    if (!alone) {
      const left = benchmarks.slice(index).reduce((sum, one) => sum + one.minutes, 0)
      process.stderr.write(
        `${index + 1} of ${benchmarks.length}: ${name}, about ${minutes} min. with 3 rounds; ${left} min. to go\n`
      )
    }
    // One that is run by itself may be asked for more than usual, and be stopped by hand.
    const results = await runOne(benchmark, args, alone ? null : patienceFor(benchmark))
    const on = await Effect.runPromise(Effect.map(DateTime.now, DateTime.formatIsoDateUtc))
    if (typeof results === "string") {
      failed.push(name)
      process.stderr.write(`${name} failed: ${results}\n`)
      if (write) keepFailure(name, { on, message: results })
    } else if (write) {
      keep({ benchmark: name, on, machine, results })
    }
    if (write) await writePage()
  }
  if (failed.length > 0 && benchmarks.length > 1) process.stderr.write(`failed: ${failed.join(", ")}\n`)
  return failed.length === 0 ? 0 : 1
}
