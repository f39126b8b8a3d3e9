/**
 * How a run ended, the exit code that follows, and why it did not pass. 3 is the exit code of wrong usage; 130, of an
 * interrupted run, is given by the process.
 */
import type { Report } from "./Report.ts"

export const exitCodes = { passed: 0, failed: 1, inconclusive: 2, unusable: 4 } as const

const byVerdict = { pass: exitCodes.passed, fail: exitCodes.failed, inconclusive: exitCodes.inconclusive } as const

/** A receiver or a probe that is gone outweighs what was found before it went. */
export const exitCodeOf = ({ ended, verdict }: Pick<Report, "ended" | "verdict">): number =>
  ended === "target_unusable" || ended === "probe_unusable" ? exitCodes.unusable : byVerdict[verdict]

const soFar = "this is what was found until then. "

const endings: Readonly<Record<Report["ended"], string>> = {
  complete: "",
  time_up: "The time was up (--max-time) before everything was done. ",
  interrupted: `Interrupted: ${soFar}`,
  target_unusable: `The receiver could not be reached or operated any more: ${soFar}`,
  probe_unusable: `The probe could not be used any more: ${soFar}`,
  stayed_down: `The receiver was killed and did not start again: ${soFar}`
}

/** What ended a run before all of it was done, as a sentence and a space; empty where nothing did. */
export const endingOf = ({ attempts, ended }: Report): string => {
  if (attempts > 0) return endings[ended]
  if (ended === "target_unusable") return "The receiver could not be reached or operated. "
  return ended === "probe_unusable" ? "The probe could not be used. " : endings[ended]
}

/** Whether nothing could be sent, so that there is one reason for all that was not tested. */
export const neverBegan = ({ attempts, ended }: Report): boolean =>
  attempts === 0 && (ended === "target_unusable" || ended === "probe_unusable")

/** What leaves a verdict open: MUSTs that were not decided. */
export const undecided = ({ requirements }: Report) =>
  requirements.filter(
    ({ strength, verdict }) => strength === "MUST" && (verdict === "INCONCLUSIVE" || verdict === "ERROR")
  )

const whyOpen = (report: Report): string => {
  if (report.requirements.every(({ verdict }) => verdict === "SKIPPED")) return report.endedBecause
  const ids = undecided(report).map(({ id }) => id)
  const open = ids.length === 0 ? "nothing was passed" : `${ids.join(", ")} could not be decided`
  return `Inconclusive: ${open}. ${endingOf(report)}`.trimEnd()
}

/** Why a run did not pass, in one line; null when it did. */
export const shortcomingOf = (report: Report): string | null => {
  const failed = report.requirements.filter(({ known, verdict }) => verdict === "FAIL" && !known).map(({ id }) => id)
  const stale = report.baseline?.stale ?? []
  switch (exitCodeOf(report)) {
    case exitCodes.passed:
      return null
    case exitCodes.failed:
      return failed.length > 0
        ? `The receiver does not conform: ${failed.join(", ")} failed.`
        : `The baseline is stale: ${stale.join(", ")} passed. Take it out of the baseline, so that it can't fail again unnoticed.`
    case exitCodes.unusable:
      return report.endedBecause
    default:
      return whyOpen(report)
  }
}
