/**
 * `--report html=FILE,json=FILE,csv=FILE`.
 */
import { checkDifferent, checkWritable, CommandFailure, fileTrouble } from "@doorhook/core"
import type { NamedFile } from "@doorhook/core"
import { Console, Effect, FileSystem } from "effect"
import { csvReport, htmlReport } from "../report/HtmlReport.ts"
import type { RunReport } from "../results/RunReport.ts"
import { summaryLine } from "../results/RunText.ts"

const writers = {
  html: htmlReport,
  json: (report: RunReport) => `${JSON.stringify(report, null, 2)}\n`,
  csv: csvReport
} as const
type Format = keyof typeof writers

const isFormat = (text: string): text is Format => Object.hasOwn(writers, text)

export interface ReportFile {
  readonly format: Format
  readonly file: string
}

/** Reads the flag. */
export const readReportFiles = (text: string): Effect.Effect<ReadonlyArray<ReportFile>, CommandFailure> =>
  Effect.forEach(text.split(","), (part) => {
    const at = part.indexOf("=")
    const format = part.slice(0, at).trim()
    const file = part.slice(at + 1).trim()
    return at > 0 && isFormat(format) && file !== ""
      ? Effect.succeed({ format, file })
      : CommandFailure.usage(
          `--report ${part}: expected html=FILE, json=FILE or csv=FILE, or several, separated by commas`
        )
  })

/**
 * Fails before the run if a report file can't be written, is named twice, or is one of the `others` that the run needs.
 * Writes nothing.
 */
export const checkReportFiles = (files: ReadonlyArray<ReportFile>, others: ReadonlyArray<NamedFile>) => {
  const named = files.map(({ file, format }) => ({ said: `--report ${format}=${file}`, file }))
  return Effect.andThen(
    checkDifferent([...others, ...named]),
    Effect.forEach(named, ({ file, said }) => checkWritable(said, file), { discard: true })
  )
}

/** Writes all reports. If some can't be written, fails with the first error after trying all. */
export const writeReports = Effect.fnUntraced(function* (files: ReadonlyArray<ReportFile>, report: RunReport) {
  const system = yield* FileSystem.FileSystem
  const failures: Array<CommandFailure> = []
  for (const { file, format } of files) {
    yield* system.writeFileString(file, writers[format](report)).pipe(
      Effect.andThen(Console.log(summaryLine("report", file))),
      Effect.catchTag("PlatformError", (error) =>
        Effect.sync(() => {
          failures.push(new CommandFailure({ message: `Cannot write ${file}: ${fileTrouble(error)}`, exitCode: 1 }))
        })
      )
    )
  }
  const [first] = failures
  if (first !== undefined) return yield* first
})
