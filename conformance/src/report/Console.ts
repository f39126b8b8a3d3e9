/**
 * The report as a colleague would tell it: what passed in a line each; of what did not, the rule, what was sent, what
 * came back, why it matters, and how to see it again.
 */
import type { Report, ReportedRequirement, Step } from "./Report.ts"
import { deadlineInWords } from "./Report.ts"
import { shownText } from "./Shown.ts"

/** A curl command longer than this is left to the JSON report. */
const longestCurl = 1_500

/** What one attempt came to, with the beginning of the answer. */
const attemptInWords = ({ excerpt, got }: Step["attempts"][number]): string => {
  const body = shownText(excerpt, 80)
  return `${shownText(got, 300)}${body === "" ? "" : `: ${body}`}`
}

const stepLines = ({ decidedBy, history }: ReportedRequirement): ReadonlyArray<string> =>
  history.flatMap((step, place) => [
    `    ${place + 1}. sent  ${step.did}`,
    ...step.attempts.map((attempt, index) => {
      const decisive = decidedBy?.step === place && decidedBy.attempt === index
      return `       got   ${attemptInWords(attempt)}${decisive ? "   <- here" : ""}`
    })
  ])

const curlLine = (curl: string): string =>
  curl.length <= longestCurl ? curl : "the request is long: see `curl` in the JSON report (--report json=FILE)"

/** All there is to say of a requirement that did not pass. */
const explain = (requirement: ReportedRequirement): ReadonlyArray<string> => {
  const { because, curl, expected, history, id, observed, replay, source, statement, verdict } = requirement
  if (history.length === 0)
    return ["", `${verdict}  ${id}`, `  Observed   ${shownText(observed, 400)}`, `  Again      ${replay}`]
  return [
    "",
    `${verdict}  ${id}`,
    `  The rule   ${statement}`,
    `             (${source})`,
    `  Expected   ${expected}`,
    `  Observed   ${shownText(observed, 400)}`,
    "  History",
    ...stepLines(requirement),
    ...(verdict === "FAIL" || verdict === "WARN" ? [`  Because    ${because}`] : []),
    ...(curl === null ? [] : [`  By hand    ${curlLine(curl)}`]),
    `  Again      ${replay}`
  ]
}

/** What a run begins with. */
export const opening = (
  report: Pick<Report, "ack" | "deadlineMs" | "guardMs" | "level" | "seed" | "suite" | "target">
) =>
  [
    `${report.suite}, level ${report.level}, ${report.target}, seed ${report.seed}`,
    `An answer counts with ${report.ack === "200" ? "status 200" : "a 2xx status"} within ${report.deadlineMs} ms (measured to ${report.guardMs} ms).`,
    ""
  ].join("\n")

const unreached = "The receiver could not be reached. "

const endings: Readonly<Record<Report["ended"], string>> = {
  complete: "",
  time_up: "The time was up (--max-time) before everything was done. ",
  interrupted: "Interrupted: this is what was found until then. ",
  target_unusable: "The receiver could not be reached any more: this is what was found until then. "
}

/** The numbers of each verdict, like `6 PASS, 1 FAIL`. */
export const tally = ({ requirements }: Report): string => {
  const counts = new Map<string, number>()
  for (const { verdict } of requirements) counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
  return Array.from(counts, ([verdict, count]) => `${count} ${verdict}`).join(", ")
}

/** The report as text for a terminal. */
export const render = (report: Report): string => {
  const { attempts, ended, requirements } = report
  if (requirements.length === 0) {
    return "No requirement fits --only and --skip, so nothing was tested. `doorhook conformance list` shows what there is."
  }
  const lines = requirements.map(
    ({ id, observed, statement, verdict }) =>
      `${verdict.padEnd(14)}${id}  ${verdict === "PASS" ? `${statement} (${observed})` : statement}`
  )
  // Where nothing could be sent, there is one reason for all of them, and it is told at the end.
  const unsettled =
    attempts === 0 ? [] : requirements.filter(({ verdict }) => verdict !== "PASS" && verdict !== "SKIPPED")
  return [
    ...lines,
    ...unsettled.flatMap(explain),
    "",
    `${attempts === 0 && ended === "target_unusable" ? unreached : endings[ended]}${tally(report)}; ${attempts} attempts, deadline ${deadlineInWords(report)}.`
  ].join("\n")
}
