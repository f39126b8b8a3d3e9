/**
 * Puts a report together from the evidence of a run and its verdicts.
 */
import type { Evidence } from "../record/Evidence.ts"
import type { Outcome } from "../record/Verdict.ts"
import type { Report } from "./Report.ts"

/** Where failing histories were stored, by the requirement's id, and why not more; null: no problem. */
export interface StoredFiles {
  readonly files: ReadonlyMap<string, string>
  readonly problem: string | null
}

export declare const makeReport: (evidence: Evidence, outcomes: ReadonlyArray<Outcome>, stored: StoredFiles) => Report
