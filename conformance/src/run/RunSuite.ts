/**
 * The suite as a function, from settings to a report.
 */
import { Effect, Random, Schema } from "effect"
import { writeFile } from "node:fs/promises"
import { fileTroubleOf } from "@doorhook/core"
import { EvidenceLine, shownEvidence } from "../record/Evidence.ts"
import type { Ended } from "../record/Evidence.ts"
import { defaults, seedLimit } from "../record/Options.ts"
import type { Means, Options } from "../record/Options.ts"
import { outcomesOf } from "../record/Outcome.ts"
import { makeReport } from "../report/MakeReport.ts"
import type { Report } from "../report/Report.ts"
import { select, whyNothing } from "../requirements/Catalogue.ts"
import { Session } from "./Session.ts"
import { services } from "./Setup.ts"
import { storeCases } from "./StoredCase.ts"

/** Settings that a caller gives. Missing settings get their defaults, and a missing seed is drawn at random. */
export type Given = Pick<Options, "url"> & Partial<Options>

/** A prepared run. `soFar` reports the results so far, for a run that is interrupted. */
export interface PreparedRun {
  readonly options: Options
  readonly guard: number
  readonly run: Effect.Effect<Report>
  readonly soFar: Effect.Effect<Report>
}

const encode = Schema.encodeEffect(EvidenceLine)

/** Writes the evidence; returns why it could not be written, or null. */
const writeEvidence = (file: string, evidence: typeof EvidenceLine.Type): Effect.Effect<string | null> =>
  encode(shownEvidence(evidence)).pipe(
    Effect.flatMap((line) => Effect.tryPromise({ try: () => writeFile(file, `${line}\n`), catch: fileTroubleOf })),
    Effect.as(null),
    Effect.catch((why) =>
      Effect.succeed(
        `The evidence could not be written to ${file}: ${typeof why === "string" ? why : why.message}. Name another file with --trace.`
      )
    )
  )

/** Prepares a run: measures how accurately this machine can time an answer. Sends nothing yet. */
export const prepareSuite = Effect.fnUntraced(function* (given: Given, means: Means): Effect.fn.Return<PreparedRun> {
  const seed = given.seed ?? (yield* Random.nextIntBetween(0, seedLimit))
  const options: Options = { ...defaults, ...given, seed }
  const session = yield* Session.make(options, means)

  const reportOf = Effect.fnUntraced(function* (ended: Ended) {
    const evidence = yield* session.evidence(ended)
    const outcomes = outcomesOf(evidence)
    const stored = yield* storeCases(options.cases, seed, outcomes, evidence.reproductions)
    const unwritten = options.trace === null ? null : yield* writeEvidence(options.trace, evidence)
    return makeReport(evidence, outcomes, { ...stored, problem: stored.problem ?? unwritten })
  })

  const run: Effect.Effect<Ended> =
    select(options).selected.length === 0
      ? Effect.succeed({ how: "complete", message: whyNothing(options) })
      : Effect.provide(session.run, services)
  return {
    options,
    guard: session.guard.guard,
    run: Effect.flatMap(run, reportOf),
    soFar: reportOf({ how: "interrupted", message: "" })
  }
})

/** Runs the suite. If the target can't be tested, the report says why. */
export const runSuite = (given: Given, means: Means): Effect.Effect<Report> =>
  Effect.flatMap(prepareSuite(given, means), ({ run }) => run)
