/**
 * The report as a badge: what shields.io asks of an endpoint (schema 1).
 */
import type { Report } from "./Report.ts"

const levels: Readonly<Record<Report["level"], string>> = { 1: "L1 acknowledges", 2: "L2 once", 3: "L3 durable" }

/** The level, and the profiles on top of it. */
export const claimOf = ({ level, profiles }: Report): string => [levels[level], ...profiles].join(" + ")

/** Why it failed: what does, or a baseline that lists what does not any more. */
const failureOf = ({ requirements }: Report): string => {
  const failed = requirements.filter(({ known, verdict }) => verdict === "FAIL" && !known).length
  return failed === 0 ? "baseline stale" : `${failed} failed`
}

const badgeOf = (report: Report) => {
  const states = {
    pass: { message: claimOf(report), color: "brightgreen" },
    fail: { message: failureOf(report), color: "red" },
    inconclusive: { message: "inconclusive", color: "lightgrey" }
  } as const
  return { schemaVersion: 1, label: "webhook receiver", ...states[report.verdict] }
}

export const toBadge = (report: Report): string => `${JSON.stringify(badgeOf(report), null, 2)}\n`
