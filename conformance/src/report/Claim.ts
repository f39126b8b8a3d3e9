/**
 * What a run claims of a receiver, and what it leaves out: who tested a part of a level has not passed it.
 */
import { select } from "../requirements/Selection.ts"
import type { Report } from "./Report.ts"

const levels: Readonly<Record<Report["level"], string>> = { 1: "L1 acknowledges", 2: "L2 once", 3: "L3 durable" }

/** The level, and the profiles on top of it. */
export const claimOf = ({ level, profiles }: Report): string => [levels[level], ...profiles].join(" + ")

/** What a pass leaves out: requirements of the claim that were not tested, and those that are known to fail. Empty: nothing. */
export const gapsOf = ({ level, profiles, requirements }: Report): string => {
  const whole = select({ level, profiles, only: [], skip: [] }).selected.length
  const tested = requirements.filter(({ verdict }) => verdict !== "SKIPPED").length
  const known = requirements.filter(({ known, verdict }) => known && verdict === "FAIL").length
  return [
    ...(tested < whole ? [`${tested} of ${whole} requirements`] : []),
    ...(known > 0 ? [`${known} known to fail`] : [])
  ].join(", ")
}

/** The claim, with what it leaves out. */
export const claimWithGaps = (report: Report): string => {
  const gaps = gapsOf(report)
  return gaps === "" ? claimOf(report) : `${claimOf(report)} (${gaps})`
}

/** The verdict as a headline. */
export const headlineOf = (report: Report): string => {
  const headlines: Readonly<Record<Report["verdict"], string>> = {
    pass: gapsOf(report) === "" ? "The receiver conforms" : "The receiver conforms in part",
    fail: "The receiver does not conform",
    inconclusive: "Inconclusive"
  }
  return headlines[report.verdict]
}
