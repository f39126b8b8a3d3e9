/** `simulate merge`: merges the JSON reports of several generators into one. */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { RunReport } from "../results/RunReport.ts"
import { makeReport, mergedMeasurements, readReport } from "../results/RunReport.ts"
import { summaryText } from "../results/RunText.ts"
import { readSlos } from "../results/Slo.ts"
import { readEach, readText } from "./Flags.ts"
import { checkReportFiles, readReportFiles, writeReports } from "./ReportFiles.ts"
import { failureOf } from "./RunEnd.ts"

/** Facts that all generators of a load share. */
const shared = ["kind", "scenario", "seed", "start", "duration", "speed"] as const

interface Part {
  readonly file: string
  readonly report: RunReport
}

/** Describes why reports are not those of all generators of one load, each once; null if they are. */
const mismatchOf = (first: Part, parts: ReadonlyArray<Part>): string | null => {
  for (const name of shared) {
    const other = parts.find(({ report }) => report[name] !== first.report[name])
    if (other !== undefined)
      return `expected generators of one load, and ${name} is ${first.report[name]} in ${first.file} and ${other.report[name]} in ${other.file}`
  }
  const seen = new Set<string>()
  for (const { file, report } of parts) {
    if (report.generator === null) return `${file} is not the report of a generator (--generator)`
    if (seen.has(report.generator)) return `generator ${report.generator} appears twice; its events would count twice`
    seen.add(report.generator)
  }
  const count = Number(first.report.generator?.split("/")[1])
  const expected = Array.from({ length: count }, (_, nth) => `${nth + 1}/${count}`)
  const other = [...seen].find((generator) => !expected.includes(generator))
  if (other !== undefined) return `generators ${first.report.generator} and ${other} don't share one load`
  const missing = expected.find((generator) => !seen.has(generator))
  return missing === undefined ? null : `expected the reports of all ${count} generators, and ${missing} is missing`
}

/** Describes the generators whose runs failed or were interrupted; null if there are none. */
const shortfallOf = (reports: ReadonlyArray<RunReport>): string | null => {
  const texts = reports.flatMap((report) => {
    const why = report.interrupted ? "The run was interrupted" : failureOf(report)?.message
    return why === undefined ? [] : [`Generator ${report.generator}: ${why}`]
  })
  return texts.length === 0 ? null : texts.join("; ")
}

export const mergeCommand = Command.make(
  "merge",
  {
    files: Argument.String("report").pipe(
      Argument.withDescription("JSON reports of simulate run --generator"),
      Argument.atLeast(2)
    ),
    slo: Flag.String("slo").pipe(
      Flag.withDescription("Objectives of all generators together, like ack_p99<5s,lost=0"),
      Flag.atLeast(0)
    ),
    report: Flag.String("report").pipe(
      Flag.withDescription("Files to write: html=FILE,json=FILE,csv=FILE"),
      Flag.atLeast(0)
    )
  },
  Effect.fnUntraced(function* ({ files, report: reportTexts, slo: sloTexts }) {
    const parts = yield* Effect.forEach(files, (file) =>
      Effect.flatMap(readText("REPORT", file), (text) =>
        Effect.mapBoth(Effect.fromOption(readReport(text)), {
          onFailure: () => CommandFailure.usage(`${file}: expected a JSON report of simulate run, by this version`),
          onSuccess: (report): Part => ({ file, report })
        })
      )
    )
    const slos = (yield* readEach("slo", sloTexts, readSlos)).flat()
    const targets = (yield* Effect.forEach(reportTexts, readReportFiles)).flat()
    yield* checkReportFiles(
      targets,
      files.map((file) => ({ said: file, file }))
    )
    const [part = yield* CommandFailure.usage("expected at least two reports to merge")] = parts
    const mismatch = mismatchOf(part, parts)
    if (mismatch !== null) return yield* CommandFailure.usage(`${files.join(" ")}: ${mismatch}`)
    const first = part.report
    const reports = parts.map(({ report }) => report)
    const shortfall = shortfallOf(reports)
    const most = (numbers: ReadonlyArray<number | null>) => Math.max(...numbers.map((number) => number ?? 0))
    const all = (numbers: ReadonlyArray<number | null>) =>
      numbers.includes(null) ? null : numbers.reduce<number>((sum, number) => sum + (number ?? 0), 0)
    const totals = reports.map((report) => report.totals)
    const measurements = mergedMeasurements(reports)
    const merged = makeReport({
      facts: {
        ...first,
        target: `${first.target}, ${reports.length} generators`,
        integrations: first.kind === "service" ? measurements.integrations.size : first.integrations,
        max_in_flight: all(reports.map(({ max_in_flight }) => max_in_flight)),
        generator: null,
        command: reports.map(({ command }) => command).join("\n")
      },
      measurements,
      slos,
      lost: all(totals.map(({ lost }) => lost)),
      broken: all(totals.map(({ broken }) => broken)) ?? 0,
      violations: [],
      crashes: most(reports.map(({ crashes }) => crashes)),
      took: most(reports.map(({ took }) => took)),
      sending: reports.some(({ sending }) => sending === null) ? null : most(reports.map(({ sending }) => sending)),
      interrupted: reports.some(({ interrupted }) => interrupted),
      stopped_by: reports.find(({ stopped_by }) => stopped_by !== null)?.stopped_by ?? null,
      failed: shortfall !== null
    })
    yield* Console.log(`${reports.length} generators, ${first.scenario} ${first.target}\n${summaryText(merged)}`)
    yield* writeReports(targets, merged)
    if (shortfall !== null) return yield* new CommandFailure({ message: shortfall, exitCode: 1 })
    const failure = failureOf(merged, { silence: "one of the reports does not include them" })
    if (failure !== null) return yield* failure
  })
).pipe(
  Command.withDescription("Merge the JSON reports of several generators: counts add up, histograms merge exactly"),
  Command.withExamples([
    {
      command: "doorhook simulate merge one.json two.json three.json --slo 'intended_p99<1s' --report html=all.html",
      description: "Three generators as one"
    }
  ])
)
