/**
 * Runs benchmarks one after another, each in its own process, stores their results and generates `docs/measurements.md`.
 */
import { administer } from "@doorhook/testkit/postgres/ServerProcess"
import { DateTime, Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, totalmem } from "node:os"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import type { Result } from "./harness/Benchmark.ts"
import { benchmarkNames, loadBenchmark } from "./harness/Benchmark.ts"
import type { Measured } from "./harness/Page.ts"
import { pageOf } from "./harness/Page.ts"
import { startPostgres } from "./harness/PostgresServer.ts"
import { redisVersion } from "./harness/RedisServer.ts"

const program = fileURLToPath(new URL("run.ts", import.meta.url))
const resultsFile = new URL("../results.jsonl", import.meta.url)
const pageFile = new URL("../../../docs/measurements.md", import.meta.url)

/** Runs a benchmark and shows its output. Returns its results, or null if it failed. */
const runOne = async (name: string, args: ReadonlyArray<string>): Promise<ReadonlyArray<Result> | null> => {
  const child = spawn(process.execPath, ["--conditions=source", program, name, ...args], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "close")])
  process.stdout.write(printed)
  if (code !== 0) return null
  return printed
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): Result => JSON.parse(line))
}

/** Reads the stored results, one line per benchmark in the order of names. */
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

/** Generates the page from the stored results. */
export const writePage = async (): Promise<void> => {
  const benchmarks = await Promise.all(benchmarkNames.map(loadBenchmark))
  writeFileSync(pageFile, pageOf(benchmarks, readResults()))
}

const manifest: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8")
)

/** The packages whose versions affect results. */
const packages = ["effect", "undici", "fastify", "bullmq", "pg-boss", "graphile-worker", "@node-oauth/oauth2-server"]

const postgresVersion = Effect.scoped(
  Effect.gen(function* () {
    const server = yield* startPostgres
    const url = yield* server.newDatabase
    const [row] = yield* Effect.promise(() => administer(url, "SHOW server_version"))
    return String(row?.["server_version"])
  })
).pipe(Effect.catchCause(() => Effect.succeed("not started")))

/** Describes the machine and the versions of a measurement in one line, without names and paths. */
const describeMachine: Effect.Effect<string> = Effect.map(postgresVersion, (postgres) =>
  [
    `${availableParallelism()} cores`,
    `${Math.round(totalmem() / 2 ** 30)} GB of memory`,
    process.platform,
    `Node.js ${process.versions.node}`,
    `SQLite ${process.versions["sqlite"]}`,
    `PostgreSQL ${postgres}`,
    `Redis ${redisVersion() ?? "not installed"}`,
    ...packages.map((name) => `${name} ${manifest.dependencies[name]}`)
  ].join(", ")
)

/**
 * Runs some benchmarks. With `write`, stores their results and generates the page. The stored results of others, and of
 * those that fail, remain. Returns the exit code.
 */
export const measure = async (
  names: ReadonlyArray<string>,
  { args, write }: { readonly args: ReadonlyArray<string>; readonly write: boolean }
): Promise<number> => {
  const benchmarks = await Promise.all(names.map(loadBenchmark))
  const failed: Array<string> = []
  const machine = write ? await Effect.runPromise(describeMachine) : ""
  for (const [index, benchmark] of benchmarks.entries()) {
    const { minutes, name } = benchmark
    if (benchmarks.length > 1) {
      const left = benchmarks.slice(index).reduce((sum, one) => sum + one.minutes, 0)
      process.stderr.write(
        `${index + 1} of ${benchmarks.length}: ${name}, about ${minutes} min. with 3 rounds; ${left} min. to go\n`
      )
    }
    const results = await runOne(name, args)
    if (results === null) failed.push(name)
    else if (write) {
      const on = await Effect.runPromise(Effect.map(DateTime.now, DateTime.formatIsoDateUtc))
      keep({ benchmark: name, on, machine, results })
      await writePage()
    }
  }
  if (failed.length > 0 && benchmarks.length > 1) process.stderr.write(`failed: ${failed.join(", ")}\n`)
  return failed.length === 0 ? 0 : 1
}
