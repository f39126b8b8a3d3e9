/** `simulate merge`: merges the JSON reports of several generators into one. */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { makeReport, mergedMeasurements, readReport } from "../results/RunReport.ts"
import { summaryText } from "../results/RunText.ts"
import { readSlos } from "../results/Slo.ts"
import { readText } from "./Flags.ts"
import { checkReportFiles, readReportFiles, writeReports } from "./ReportFiles.ts"
import { failureOf } from "./RunEnd.ts"

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
    const reports = yield* Effect.forEach(files, (file) =>
      Effect.flatMap(readText("REPORT", file), (text) =>
        Effect.mapError(Effect.fromOption(readReport(text)), () =>
          CommandFailure.usage(`${file}: expected a JSON report of simulate run, by this version`)
        )
      )
    )
    const slos = (yield* Effect.forEach(sloTexts, (one) =>
      Effect.mapError(Effect.fromResult(readSlos(one)), (why) => CommandFailure.usage(`--slo ${one}: ${why}`))
    )).flat()
    const targets = (yield* Effect.forEach(reportTexts, readReportFiles)).flat()
    yield* checkReportFiles(
      targets,
      files.map((file) => ({ said: file, file }))
    )
    const [first = yield* CommandFailure.usage("expected at least two reports to merge")] = reports
    const other = reports.find(({ kind, speed }) => kind !== first.kind || speed !== first.speed)
    if (other !== undefined)
      return yield* CommandFailure.usage(
        `${files.join(" ")}: expected reports of one kind of run at one speed, not ${first.kind} and ${other.kind}`
      )
    const twice = reports.find(
      ({ generator }, at) => generator !== null && reports.findIndex((one) => one.generator === generator) !== at
    )
    if (twice !== undefined)
      return yield* CommandFailure.usage(
        `${files.join(" ")}: generator ${twice.generator} appears twice; its events would count twice`
      )
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
      stopped_by: null,
      failed: false,
      earlier: null
    })
    yield* Console.log(`${reports.length} generators, ${first.scenario} ${first.target}\n${summaryText(merged)}`)
    yield* writeReports(targets, merged)
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
