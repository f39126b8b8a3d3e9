/**
 * Judges stored evidence again.
 */
import { Effect, Schema } from "effect"
import { readFile } from "node:fs/promises"
import { EvidenceLine } from "../../src/record/Evidence.ts"
import { outcomesOf } from "../../src/record/Outcome.ts"
import { makeReport } from "../../src/report/MakeReport.ts"
import type { Report } from "../../src/report/Report.ts"

export const evidenceIn = (file: string) =>
  Effect.promise(() => readFile(file, "utf8")).pipe(
    Effect.flatMap((text) => Schema.decodeEffect(EvidenceLine)(text.trim())),
    Effect.orDie
  )

/** Returns the report that follows from an evidence file alone. */
export const saidAgain = (file: string): Effect.Effect<Report> =>
  Effect.map(evidenceIn(file), (evidence) =>
    makeReport(evidence, outcomesOf(evidence), { files: new Map(), problem: null })
  )
