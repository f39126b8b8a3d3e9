/**
 * The exit codes of a run, and how one follows from its report. 3 is for wrong usage; 130, for an interrupted run, is
 * given by whoever interrupts.
 */
import type { Report } from "./Report.ts"

export const exitCodes = { passed: 0, failed: 1, inconclusive: 2, unusable: 4 } as const

const byVerdict = { pass: exitCodes.passed, fail: exitCodes.failed, inconclusive: exitCodes.inconclusive } as const

/** A receiver or a probe that is gone outweighs what was found before it went. */
export const exitCodeOf = ({ ended, verdict }: Pick<Report, "ended" | "verdict">): number =>
  ended === "target_unusable" || ended === "probe_unusable" ? exitCodes.unusable : byVerdict[verdict]
