/**
 * `docs/measurements.md`, from results and from what the benchmarks say about themselves.
 */
import type { Benchmark, Result } from "./Benchmark.ts"

/** The results of one benchmark. */
export interface Measured {
  /** The day, like `2026-03-02`. */
  readonly on: string
  readonly machine: string
  readonly results: ReadonlyArray<Result>
}

/** Results by the name of their benchmark. */
export type Measurements = Readonly<Record<string, Measured>>

const begin = "<!-- written by hand from here: kept when the page is made anew -->"
const end = "<!-- written by hand up to here -->"

const placeholder = `## Where the time goes, and what was tried

Nothing yet.`

/** The part of a page that people wrote; without one, an invitation. */
export const handWrittenOf = (page: string): string => {
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  return from < 0 || to < from ? placeholder : page.slice(from + begin.length, to).trim()
}

const signOf = { "at least": "≥", "at most": "≤" }

const goalOf = ({ goal, goal_is }: Result): string =>
  goal === null || goal_is === null ? "" : `${signOf[goal_is]} ${goal}`

const metOf = ({ met }: Result): string => (met === null ? "" : met ? "yes" : "**no**")

const rangeOf = ([lowest, highest]: Result["ours_range"]): string => `${lowest} to ${highest}`

const overview = (benchmarks: ReadonlyArray<Benchmark>, measurements: Measurements): string => {
  const rows = benchmarks.flatMap(({ name }) =>
    (measurements[name]?.results ?? [])
      .filter(({ goal }) => goal !== null)
      .map((result) => `| \`${result.name}\` | ${goalOf(result)} | ${result.ratio} | ${metOf(result)} |`)
  )
  return ["| benchmark | goal | measured | met |", "|---|---|---|---|", ...rows].join("\n")
}

const section = (benchmark: Benchmark, measured: Measured | undefined): string => {
  const rows = (measured?.results ?? []).map((result) => {
    const line = benchmark.lines[result.name]
    return `| ${line?.ours ?? ""} | ${line?.peer ?? ""} | ${result.ours} (${rangeOf(result.ours_range)}) | ${result.peer} (${rangeOf(result.peer_range)}) | ${result.ratio} (${rangeOf(result.ratio_range)}) | ${goalOf(result)} | ${metOf(result)} |`
  })
  const table =
    measured === undefined
      ? "Not measured yet."
      : [
          "| ours | against | ours, median (range) | against, median (range) | ratio | goal | met |",
          "|---|---|---|---|---|---|---|",
          ...rows,
          "",
          `Measured on ${measured.on}: ${measured.machine}.`
        ].join("\n")
  return [
    `## \`${benchmark.name}\`: ${benchmark.summary}`,
    `What it compares: ${benchmark.compares}`,
    `What it leaves out: ${benchmark.leavesOut}`,
    table
  ].join("\n\n")
}

/** The page. */
export const pageOf = (benchmarks: ReadonlyArray<Benchmark>, measurements: Measurements, handWritten: string): string =>
  [
    "# Measurements",
    "Made by `npm run bench -- --all --write`, but for the part that says so. Each number is a ratio in one run on one machine: rounds of ours and of what it is compared with take turns, the median counts, and how far rounds went apart stands beside it. Single rounds swing, most of all on machines that others use too: take differences within 15 % as none. `npm run bench` lists the benchmarks, `npm run bench -- NAME` runs one.",
    overview(benchmarks, measurements),
    `${begin}\n\n${handWritten}\n\n${end}`,
    ...benchmarks.map((benchmark) => section(benchmark, measurements[benchmark.name]))
  ].join("\n\n") + "\n"
