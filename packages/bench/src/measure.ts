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
import type { Result } from "./harness/Benchmark.ts"
import { benchmarkNames, loadBenchmark } from "./harness/Catalog.ts"
import { describeMachine } from "./harness/Machine.ts"
import type { Measured } from "./harness/Page.ts"
import { handWrittenOf, pageOf } from "./harness/Page.ts"

const program = fileURLToPath(new URL("run.ts", import.meta.url))
const resultsFile = new URL("../results.jsonl", import.meta.url)
const pageFile = new URL("../../../docs/measurements.md", import.meta.url)

/** Runs one, shows what it prints, and answers its results; null when it failed. */
const runOne = async (name: string, args: ReadonlyArray<string>): Promise<ReadonlyArray<Result> | null> => {
  const child = spawn(process.execPath, ["--conditions=source", program, name, ...args], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "close")])
  process.stdout.write(printed)
  if (code !== 0) {
    process.stderr.write(`${name} failed: its process ended with code ${code}\n`)
    return null
  }
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

const keepResults = (measured: Measured): void => {
  const others = readResults().filter(({ benchmark }) => benchmark !== measured.benchmark)
  const lines = [...others, measured]
    .toSorted((a, b) => a.benchmark.localeCompare(b.benchmark))
    .map((one) => `${JSON.stringify(one)}\n`)
  writeFileSync(resultsFile, lines.join(""))
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
  const failed: Array<string> = []
  const machine = write ? await Effect.runPromise(describeMachine) : ""
  for (const name of names) {
    const results = await runOne(name, args)
    if (results === null) {
      failed.push(name)
    } else if (write) {
      const on = await Effect.runPromise(Effect.map(DateTime.now, DateTime.formatIsoDateUtc))
      keepResults({ benchmark: name, on, machine, results })
      await writePage()
    }
  }
  return failed.length === 0 ? 0 : 1
}
