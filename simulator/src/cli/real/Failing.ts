/**
 * Why a run in real time has failed, if it has: in one line, with its exit code.
 */
import { CommandFailure, DurationText } from "@doorhook/core"
import { counted } from "../../results/Words.ts"
import { isUnaccounted, isUnreached } from "../../results/MakeReport.ts"
import type { RunReport } from "../../results/RunReport.ts"
import { outcomesText } from "../../results/RunText.ts"
import type { RunSummary } from "../../results/RunSummary.ts"

/** What to look at where a receiver acknowledged nothing. */
const adviceFor = ({ statuses, totals }: RunReport, isSigned: boolean): string => {
  if ((statuses["401"] ?? 0) + (statuses["403"] ?? 0) < totals.attempts)
    return "is the receiver running, and is this its URL?"
  return isSigned
    ? "it may check signatures: is the secret that was given its own?"
    : "it may check signatures: give its secret with --secret"
}

/** `silence`: why a service could not be asked. `isSigned`: with a secret that was given for the receiver. */
export const failureOf = (
  report: RunReport,
  summary: RunSummary,
  silence: string | null,
  isSigned = false
): CommandFailure | null => {
  const { slos, totals, verdict } = report
  if (summary.failed > 0)
    return new CommandFailure({
      message: `${report.kind === "service" ? "The service" : "The engine in this process"} did not take ${counted(summary.failed, "event")}; the last answer was: ${summary.last_failure ?? "none"}`,
      exitCode: 1
    })
  const lost = totals.lost ?? 0
  if (lost > 0)
    return new CommandFailure({
      message: `${counted(lost, "delivery", "deliveries")} of accepted events ${lost === 1 ? "is" : "are"} not accounted for`,
      exitCode: 1
    })
  if ((totals.broken ?? 0) > 0)
    return new CommandFailure({
      message: `A rule of delivery was broken in ${counted(totals.broken ?? 0, "place")}; the summary says which`,
      exitCode: 1
    })
  if (isUnreached(report))
    return new CommandFailure({
      message: `${report.target.replace(/^against /, "")} acknowledged none of ${totals.attempts} requests: ${outcomesText(report.outcomes, report.statuses)}. Expected 200${report.ack_timeout === null ? "" : ` within ${DurationText.format(report.ack_timeout)}`}; ${adviceFor(report, isSigned)}`,
      exitCode: 1
    })
  if (isUnaccounted(report))
    return new CommandFailure({
      message: `The service did not say what became of ${counted(totals.accepted, "event")} that it took in: ${silence ?? "it was not asked"}`,
      exitCode: 1
    })
  if (verdict === "pass") return null
  const missed = slos.filter(({ met }) => !met).map(({ measured, slo }) => `${slo} (${measured})`)
  return new CommandFailure({ message: `Objectives missed: ${missed.join(", ")}`, exitCode: 1 })
}
