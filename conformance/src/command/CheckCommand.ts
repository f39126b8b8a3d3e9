/**
 * `conformance check`: judges a stored trace anew, and sends nothing.
 */
import { Console, Effect } from "effect"
import { opening, render } from "../report/Console.ts"
import { makeReport } from "../report/MakeReport.ts"
import * as Reports from "../report/Reports.ts"
import { outcomesOf } from "../record/Record.ts"
import { readTrace } from "../trace/ReadTrace.ts"
import { failureOf } from "./RunCommand.ts"

export interface CheckFlags {
  readonly file: string
  readonly report: ReadonlyArray<string>
}

/** Prints the verdicts that follow from a trace. Fails as the run would that wrote it. */
export const runCheck = Effect.fnUntraced(function* ({ file, report: texts }: CheckFlags) {
  const requests = yield* Effect.fromResult(Reports.parse(texts))
  yield* Reports.check(requests, [], [{ said: `TRACE ${file}`, file }])
  const { record, stored } = yield* readTrace(file)
  const report = makeReport({ record, outcomes: outcomesOf(record), ...stored })
  yield* Console.log(opening(report))
  yield* Console.log(render(report))
  yield* Reports.write(requests, report)
  const failure = failureOf(report)
  if (failure !== null) return yield* failure
})
