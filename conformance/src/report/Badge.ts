/**
 * The report as a badge: what shields.io asks of an endpoint (schema 1).
 */
import { claimWithGaps, gapsOf } from "./Claim.ts"
import type { Report } from "./Report.ts"

/** Why it failed: what does, or a baseline that lists what does not any more. */
const failureOf = ({ requirements }: Report): string => {
  const failed = requirements.filter(({ known, verdict }) => verdict === "FAIL" && !known).length
  return failed === 0 ? "baseline stale" : `${failed} failed`
}

const badgeOf = (report: Report) => {
  const states = {
    pass: { message: claimWithGaps(report), color: gapsOf(report) === "" ? "brightgreen" : "yellow" },
    fail: { message: failureOf(report), color: "red" },
    inconclusive: { message: "inconclusive", color: "lightgrey" }
  } as const
  return { schemaVersion: 1, label: "webhook receiver", ...states[report.verdict] }
}

export const toBadge = (report: Report): string => `${JSON.stringify(badgeOf(report), null, 2)}\n`
