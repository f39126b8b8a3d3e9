/**
 * `conformance check`: judges the evidence of a run again, and sends nothing.
 */
import { CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Schema } from "effect"
import { program } from "../Program.ts"
import { EvidenceLine } from "../record/Evidence.ts"
import { outcomesOf } from "../record/Verdict.ts"
import { opening, render } from "../report/Console.ts"
import { makeReport } from "../report/MakeReport.ts"
import * as Reports from "../report/Reports.ts"
import { failureOf } from "./RunCommand.ts"

export interface CheckFlags {
  readonly file: string
  readonly report: ReadonlyArray<string>
}

/** Prints the verdicts that follow from evidence. Fails as the run would that wrote it. */
export const runCheck = Effect.fnUntraced(function* ({ file, report: texts }: CheckFlags) {
  const requests = yield* Effect.fromResult(Reports.parse(texts))
  yield* Reports.check(requests, [], [{ said: `EVIDENCE ${file}`, file }])
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(file)
    .pipe(Effect.mapError((error) => CommandFailure.usage(`check ${file}: it can't be read: ${fileTrouble(error)}`)))
  const evidence = yield* Schema.decodeEffect(EvidenceLine)(text.trim()).pipe(
    Effect.mapError(() =>
      CommandFailure.usage(
        `check ${file}: it is no evidence of this version; write it with \`${program.called} run --trace ${file}\``
      )
    )
  )
  const report = makeReport(evidence, outcomesOf(evidence), { files: new Map(), problem: null })
  yield* Console.log(opening(report))
  yield* Console.log(render(report))
  yield* Reports.write(requests, report)
  const failure = failureOf(report)
  if (failure !== null) return yield* failure
})
