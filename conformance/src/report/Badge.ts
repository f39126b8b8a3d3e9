/**
 * The report as a badge: what shields.io asks of an endpoint (schema 1).
 */
import { claimOf, gapsOf } from "./Claim.ts"
import type { Report } from "./Report.ts"

/** Why it failed: what does, or a baseline that lists what does not any more. */
const failureOf = ({ requirements }: Report): string => {
  const failed = requirements.filter(({ known, verdict }) => verdict === "FAIL" && !known).length
  return failed === 0 ? "baseline stale" : `${failed} failed`
}

export const toBadge = (report: Report): string => {
  const states = {
    pass: { message: claimOf(report), color: gapsOf(report) === "" ? "brightgreen" : "yellow" },
    fail: { message: failureOf(report), color: "red" },
    inconclusive: { message: "inconclusive", color: "lightgrey" }
  } as const
  return `${JSON.stringify({ schemaVersion: 1, label: "webhook receiver", ...states[report.verdict] }, null, 2)}\n`
}
