/**
 * The suite as a function: from settings to a report.
 */
import type { Effect } from "effect"
import type { Means, Options } from "../record/Options.ts"
import type { Report } from "../report/Report.ts"

/** Settings as a caller gives them: what is left out is as usual, a seed is drawn. */
export type Given = Pick<Options, "url"> & Partial<Options>

/** A run that has been prepared: it may be interrupted, and gives the report of what was done so far. */
export interface PreparedRun {
  readonly options: Options
  readonly guard: number
  readonly run: Effect.Effect<Report>
  readonly soFar: Effect.Effect<Report>
}

/** Prepares a run: measures how exactly this machine can time, and sends nothing yet. */
export declare const prepareSuite: (given: Given, means: Means) => Effect.Effect<PreparedRun>

/** Runs the suite. A target that can't be tested is a report that says so. */
export declare const runSuite: (given: Given, means: Means) => Effect.Effect<Report>
