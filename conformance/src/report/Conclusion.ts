/**
 * What a report concludes: the exit code, the headline, the claim with its gaps, how the run ended, and why it did not
 * pass. The exit codes 3 (wrong usage) and 130 (interrupted) belong to the command.
 */
import { memoryInWords } from "../record/Caveats.ts"
import { select } from "../requirements/Catalogue.ts"
import type { Report, ReportedRequirement } from "./Report.ts"

export const exitCodes = { passed: 0, failed: 1, inconclusive: 2, unusable: 4 } as const

export const byVerdict = {
  pass: exitCodes.passed,
  fail: exitCodes.failed,
  inconclusive: exitCodes.inconclusive
} as const

const isUnusable = ({ ended }: Pick<Report, "ended">): boolean =>
  ended === "target_unusable" || ended === "probe_unusable"

/** A receiver or a probe that is gone outweighs what was found before. */
export const exitCodeOf = (report: Pick<Report, "ended" | "verdict">): number =>
  isUnusable(report) ? exitCodes.unusable : byVerdict[report.verdict]

/** Known failures do not count; a stale baseline does. A run that was broken off can't pass. */
export const verdictOf = (
  requirements: ReadonlyArray<ReportedRequirement>,
  ended: Report["ended"],
  stale: ReadonlyArray<string>
): Report["verdict"] => {
  if (stale.length > 0 || requirements.some(isFailure)) return "fail"
  const isBrokenOff = ended !== "complete" && ended !== "time_up"
  return isBrokenOff || requirements.some(isUndecided) || requirements.every(({ verdict }) => verdict !== "PASS")
    ? "inconclusive"
    : "pass"
}

/** Whether nothing could be sent, so that one reason explains every untested requirement. */
export const neverBegan = (report: Report): boolean => report.attempts === 0 && isUnusable(report)

/** Whether it fails the run: a known failure does not. */
export const isFailure = ({ known, verdict }: Pick<ReportedRequirement, "known" | "verdict">): boolean =>
  verdict === "FAIL" && !known

/** Whether it leaves the verdict of the run open. */
export const isUndecided = ({ strength, verdict }: Pick<ReportedRequirement, "strength" | "verdict">): boolean =>
  strength === "MUST" && (verdict === "INCONCLUSIVE" || verdict === "ERROR")

const idsOf = (requirements: ReadonlyArray<ReportedRequirement>): string => requirements.map(({ id }) => id).join(", ")

const soFar = "this is what was found until then. "

const endings: Readonly<Record<Report["ended"], string>> = {
  complete: "",
  time_up: "The time was up (--max-time) before everything was done. ",
  interrupted: `Interrupted: ${soFar}`,
  target_unusable: `The receiver could not be reached or operated any more: ${soFar}`,
  probe_unusable: `The probe could not be used any more: ${soFar}`,
  stayed_down: `The receiver was killed and did not start again: ${soFar}`
}

/** What ended an incomplete run, as a sentence and a space; empty for a complete one. */
export const endingOf = (report: Report): string => {
  if (!neverBegan(report)) return endings[report.ended]
  return report.ended === "probe_unusable"
    ? "The probe could not be used. "
    : "The receiver could not be reached or operated. "
}

const whyOpen = (report: Report): string => {
  if (report.requirements.every(({ verdict }) => verdict === "SKIPPED")) return report.endedBecause
  const ids = idsOf(report.requirements.filter(isUndecided))
  return `Inconclusive: ${ids === "" ? "nothing was passed" : `${ids} could not be decided`}. ${endingOf(report)}`.trimEnd()
}

/** Why a run did not pass, in one line; null when it did. */
export const shortcomingOf = (report: Report): string | null => {
  const failed = idsOf(report.requirements.filter(isFailure))
  switch (exitCodeOf(report)) {
    case exitCodes.passed:
      return null
    case exitCodes.failed:
      return failed === ""
        ? `The baseline is stale: ${(report.baseline?.stale ?? []).join(", ")} passed. Take it out of the baseline, so that it can't fail again unnoticed.`
        : `The receiver does not conform: ${failed} failed.`
    case exitCodes.unusable:
      return report.endedBecause
    default:
      return whyOpen(report)
  }
}

const levels: Readonly<Record<Report["level"], string>> = { 1: "L1 acknowledges", 2: "L2 once", 3: "L3 durable" }

/** What a pass leaves out: requirements of the level that were not tested, and known failures. Empty if nothing. */
export const gapsOf = ({ level, profiles, requirements }: Report): string => {
  const whole = new Set<string>(select({ level, profile: profiles, only: [], skip: [] }).selected.map(({ id }) => id))
  const tested = requirements.filter(({ id, verdict }) => whole.has(id) && verdict !== "SKIPPED").length
  const known = requirements.filter((one) => one.known && one.verdict === "FAIL").length
  return [
    ...(tested < whole.size ? [`${tested} of ${whole.size} requirements`] : []),
    ...(known > 0 ? [`${known} known to fail`] : [])
  ].join(", ")
}

/** The level, the profiles and the bindings, with what they leave out: a part of a level is not the level. */
export const claimOf = (report: Report): string => {
  const { bindings, level, profiles } = report
  const gaps = gapsOf(report)
  return `${[levels[level], ...profiles].join(" + ")}${bindings === undefined ? "" : ` for ${bindings.join(" and ")}`}${gaps === "" ? "" : ` (${gaps})`}`
}

/** The claim, with how far the receiver's memory of ids was seen to reach where R-DUP-06 did not test that. */
export const claimWithHorizon = (report: Report): string => {
  const { level, memory, requirements, verdict } = report
  const isTested = requirements.some((one) => one.id === "R-DUP-06" && one.verdict === "PASS")
  const horizon = verdict === "pass" && level > 1 && memory !== undefined && !isTested ? memoryInWords(memory) : ""
  return [claimOf(report), ...(horizon === "" ? [] : [horizon])].join(", ")
}

/** The verdict as a headline. */
export const headlineOf = (report: Report): string => {
  if (report.verdict === "inconclusive") return "Inconclusive"
  if (report.verdict === "fail") return "The receiver does not conform"
  return gapsOf(report) === "" ? "The receiver conforms" : "The receiver conforms in part"
}
