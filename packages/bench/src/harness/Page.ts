/**
 * Generates `docs/measurements.md` from results and the benchmarks' descriptions.
 */
import type { Benchmark, Result } from "./Benchmark.ts"

/** The results of one benchmark. */
export interface Measured {
  readonly benchmark: string
  /** The day, like `2026-03-02`. */
  readonly on: string
  readonly machine: string
  readonly results: ReadonlyArray<Result>
  /** The day and message of a failed run after these results. */
  readonly failed?: { readonly on: string; readonly message: string }
}

const begin = "<!-- written by hand from here: kept when the page is written again -->"
const end = "<!-- written by hand up to here -->"

const placeholder = `## What misses its goal, and why

Nothing yet.`

/** The part of a page that is written by hand; a placeholder if there is none. */
export const handWrittenOf = (page: string): string => {
  const [, written] = /<!-- written by hand from here[^>]*-->([^]*)<!-- written by hand up to here -->/.exec(page) ?? []
  return written === undefined ? placeholder : written.trim()
}

const signOf = { "at least": "≥", "at most": "≤" }

const goalOf = ({ goal, goal_is }: Result): string =>
  goal === null || goal_is === null ? "" : `${signOf[goal_is]} ${goal}`

const metOf = ({ failed, met }: Result): string =>
  failed === undefined ? (met === null ? "" : met ? "yes" : "**no**") : `not measured: ${failed}`

/** The median, and the range if there were several rounds. */
const figureOf = (median: number | null, range: Result["ours_range"], { rounds, unit }: Result): string =>
  median === null || range === null
    ? "–"
    : `${median}${unit === "" ? "" : ` ${unit}`}${rounds === 1 ? "" : ` (${range[0]} to ${range[1]})`}`

/** Further figures. A figure already shown is not repeated. */
const moreOf = (results: ReadonlyArray<Result>): ReadonlyArray<string> => {
  const shown = new Set<string>()
  return results.flatMap(({ more = {}, name }) => {
    const figures = Object.entries(more)
      .map(([what, value]) => `${what.replaceAll("_", " ")} ${value}`)
      .filter((figure) => !shown.has(figure))
    for (const figure of figures) shown.add(figure)
    return figures.length === 0 ? [] : [`- \`${name}\`: ${figures.join(", ")}`]
  })
}

const overview = (measured: ReadonlyArray<Measured>): string => {
  const rows = measured.flatMap(({ benchmark, failed, results }) => [
    ...results
      .filter(({ goal }) => goal !== null)
      .map((result) => `| \`${result.name}\` | ${goalOf(result)} | ${result.ratio ?? "–"} | ${metOf(result)} |`),
    ...(failed === undefined ? [] : [`| \`${benchmark}\` | | | **failed** on ${failed.on} |`])
  ])
  return ["| benchmark | goal | measured | met |", "|---|---|---|---|", ...rows].join("\n")
}

/** Lists the machines with the benchmarks measured on each. */
const machinesOf = (measured: ReadonlyArray<Measured>): string => {
  const names = Map.groupBy(
    measured.filter(({ results }) => results.length > 0),
    ({ machine }) => machine
  )
  return [...names]
    .map(([machine, those]) => `- ${those.map(({ benchmark }) => `\`${benchmark}\``).join(", ")}: ${machine}.`)
    .join("\n")
}

const tableOf = ({ lines }: Benchmark, { on, results }: Measured): string => {
  const rows = results.map((result) => {
    const { ours_range, peer_range, ratio_range } = result
    const cells = [
      lines[result.name]?.ours ?? "",
      lines[result.name]?.peer ?? "",
      figureOf(result.ours, ours_range, result),
      figureOf(result.peer, peer_range, result),
      figureOf(result.ratio, ratio_range, { ...result, unit: "" }),
      goalOf(result),
      metOf(result)
    ]
    return `| ${cells.join(" | ")} |`
  })
  return [
    "| ours | against | ours, median (range) | against, median (range) | ratio | goal | met |",
    "|---|---|---|---|---|---|---|",
    ...rows,
    "",
    ...moreOf(results),
    "",
    `Measured on ${on}.`
  ].join("\n")
}

const section = (benchmark: Benchmark, measured: Measured | undefined): string =>
  [
    `## \`${benchmark.name}\`: ${benchmark.summary}`,
    `**Compares.** ${benchmark.compares}`,
    `**Leaves out.** ${benchmark.leavesOut}`,
    ...(measured?.failed === undefined ? [] : [`**Failed** on ${measured.failed.on}: ${measured.failed.message}.`]),
    measured === undefined || measured.results.length === 0 ? "Not measured yet." : tableOf(benchmark, measured)
  ].join("\n\n")

/** The text of the page. */
export const pageOf = (
  benchmarks: ReadonlyArray<Benchmark>,
  measured: ReadonlyArray<Measured>,
  handWritten: string
): string =>
  [
    "# Measurements",
    "Made by `npm run bench -- --all --write`, except the part written by hand. Each number is a ratio from one run on one machine: rounds of ours and of the other take turns, and the median counts; the range of the rounds is in parentheses. Single rounds vary, most of all on shared machines: read differences within 15 % as none. `npm run bench` lists the benchmarks, `npm run bench -- NAME` runs one.",
    overview(measured),
    `${begin}\n\n${handWritten}\n\n${end}`,
    `## Machines\n\n${machinesOf(measured)}`,
    ...benchmarks.map((benchmark) =>
      section(
        benchmark,
        measured.find((one) => one.benchmark === benchmark.name)
      )
    )
  ].join("\n\n") + "\n"
