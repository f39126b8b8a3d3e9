/**
 * The report as a badge: what shields.io asks of an endpoint (schema 1).
 */
import type { Report } from "./Report.ts"

const levels: Readonly<Record<Report["level"], string>> = { 1: "L1 acknowledges", 2: "L2 once", 3: "L3 durable" }

/** The level, and the profiles on top of it. */
export const claimOf = ({ level, profiles }: Report): string => [levels[level], ...profiles].join(" + ")

const failedOf = ({ requirements }: Report): number =>
  requirements.filter(({ known, verdict }) => verdict === "FAIL" && !known).length

const badgeOf = (report: Report) => {
  const states = {
    pass: { message: claimOf(report), color: "brightgreen" },
    fail: { message: `${failedOf(report)} failed`, color: "red" },
    inconclusive: { message: "inconclusive", color: "lightgrey" }
  } as const
  return { schemaVersion: 1, label: "webhook receiver", ...states[report.verdict] }
}

export const toBadge = (report: Report): string => `${JSON.stringify(badgeOf(report), null, 2)}\n`
