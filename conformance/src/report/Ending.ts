/**
 * How a run ended, and why it did not pass, in words that the command and every form of a report share.
 */
import { exitCodeOf, exitCodes } from "./ExitCode.ts"
import type { Report } from "./Report.ts"

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

/** Whether a run ended with a reason of its own, that holds for all that was not done. */
export const endedForAReason = ({ ended }: Report): boolean =>
  ended === "target_unusable" || ended === "probe_unusable" || ended === "stayed_down"

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
