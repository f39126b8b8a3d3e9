/**
 * The report as a badge: the JSON of a shields.io endpoint (schema 1).
 */
import { claimOf, gapsOf, isFailure } from "./Conclusion.ts"
import type { Report } from "./Report.ts"

export const toBadge = (report: Report): string => {
  const failed = report.requirements.filter(isFailure).length
  const states = {
    pass: { message: claimOf(report), color: gapsOf(report) === "" ? "brightgreen" : "yellow" },
    fail: { message: failed === 0 ? "baseline stale" : `${failed} failed`, color: "red" },
    inconclusive: { message: "inconclusive", color: "lightgrey" }
  } as const
  return `${JSON.stringify({ schemaVersion: 1, label: "webhook receiver", ...states[report.verdict] }, null, 2)}\n`
}
