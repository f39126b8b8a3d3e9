/**
 * What a stored trace says when it is judged anew.
 */
import { Effect } from "effect"
import { makeReport } from "../../src/report/MakeReport.ts"
import { outcomesOf } from "../../src/record/Record.ts"
import { readTrace } from "../../src/trace/ReadTrace.ts"

/** The report that follows from a file, and from nothing else. */
export const saidAgain = (file: string) =>
  Effect.map(readTrace(file), ({ record, stored }) => makeReport({ record, outcomes: outcomesOf(record), ...stored }))
