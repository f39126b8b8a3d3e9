/**
 * `conformance check` and `conformance badge`: from what a run wrote, without another run.
 */
import { CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Schema } from "effect"
import { program } from "../Program.ts"
import { Evidence } from "../record/Evidence.ts"
import { outcomesOf } from "../record/Verdict.ts"
import { toBadge } from "../report/Badge.ts"
import { opening, render } from "../report/Console.ts"
import { makeReport } from "../report/MakeReport.ts"
import { Report } from "../report/Report.ts"
import * as Reports from "../report/Reports.ts"
import { failUnlessPassed } from "./RunCommand.ts"

/** Reads a file by a schema; `what` it should be, and how to write one, for the message about another. */
const read = Effect.fnUntraced(function* <A>(command: string, file: string, schema: Schema.Decoder<A>, what: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(file)
    .pipe(
      Effect.mapError((error) => CommandFailure.usage(`${command} ${file}: it can't be read: ${fileTrouble(error)}`))
    )
  return yield* Schema.decodeEffect(Schema.fromJsonString(schema))(text).pipe(
    Effect.mapError(() => CommandFailure.usage(`${command} ${file}: it is no ${what}`))
  )
})

/** Prints the verdicts that follow from evidence. Fails as the run would that wrote it. */
export const runCheck = Effect.fnUntraced(function* (flags: {
  readonly file: string
  readonly report: ReadonlyArray<string>
}) {
  const { file } = flags
  const requests = yield* Effect.fromResult(Reports.parse(flags.report))
  yield* Reports.check(requests, [], [{ said: `EVIDENCE ${file}`, file }])
  const how = `evidence of this version; write it with \`${program.called} run --trace ${file}\``
  const evidence = yield* read("check", file, Evidence, how)
  const report = makeReport(evidence, outcomesOf(evidence), { files: new Map(), problem: null })
  yield* Console.log(opening(report))
  yield* Console.log(render(report))
  yield* Reports.write(requests, report)
  yield* failUnlessPassed(report)
})

/** Prints the JSON of a shields.io endpoint. */
export const printBadge = Effect.fnUntraced(function* (file: string) {
  const report = yield* read("badge", file, Report, `report of this version; write one with --report json=${file}`)
  yield* Console.log(toBadge(report).trimEnd())
})
