/**
 * The report as a colleague would tell it: what passed in a line each; of what did not, the rule, what was sent, what
 * came back, why it matters, and how to see it again.
 */
import { columns, shownText } from "@doorhook/core"
import { longestCurl } from "./Curl.ts"
import { endedForAReason, endingOf } from "./Ending.ts"
import { followingInWords } from "./Following.ts"
import { countsOf, isOpen } from "./Grouping.ts"
import { safeText } from "./Redaction.ts"
import type { Report, ReportedEffects, ReportedRequirement, Step } from "./Report.ts"
import { deadlineInWords } from "./Report.ts"

/** What one attempt came to, with the beginning of the answer. */
const attemptInWords = ({ excerpt, got }: Step["attempts"][number]): string => {
  const body = shownText(safeText(excerpt), 80)
  return `${shownText(got, 300)}${body === "" ? "" : `: ${body}`}`
}

const stepLines = ({ decidedBy, history }: ReportedRequirement): ReadonlyArray<string> =>
  history.flatMap((step, place) => [
    `    ${place + 1}. ${step.attempts.length === 0 ? "then" : "sent"}  ${step.did}`,
    ...step.attempts.map((attempt, index) => {
      const decisive = decidedBy?.step === place && decidedBy.attempt === index
      return `       got   ${attemptInWords(attempt)}${decisive ? "   <- here" : ""}`
    }),
    ...(step.moreAttempts === 0 ? [] : [`       and ${step.moreAttempts} more attempts`])
  ])

/** The most events whose effects are told. */
const mostEffects = 5

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** What the probe said of an event, in words. */
const effectsInWords = ({ digestMatches, effects, event, most, webhookId }: ReportedEffects): string => {
  const did = effects === 0 ? "took no effect" : `took effect ${times(effects)}`
  const before = most === undefined ? "" : ` at the latest reading, ${times(most)} before`
  return `event ${event} ${did}${before}${digestMatches === false ? ", and what was stored is not what was sent" : ""} (webhook-id ${webhookId})`
}

/** Those of the effects that are not as they usually are, and a word on the others. */
export const notableEffects = ({ effects }: Pick<ReportedRequirement, "effects">): ReadonlyArray<string> => {
  const notable = effects.filter(
    ({ digestMatches, effects, most }) => effects !== 1 || most !== undefined || digestMatches === false
  )
  const shown = notable.length === 0 ? effects : notable
  const others = effects.length - shown.length
  return [
    ...shown.slice(0, mostEffects).map(effectsInWords),
    ...(shown.length > mostEffects ? [`and ${shown.length - mostEffects} more like these`] : []),
    ...(others === 0 ? [] : [`${others === 1 ? "the other event" : `the other ${others} events`} took effect once`])
  ]
}

/** How sure that is, in words. What was seen once is proof: one that does not come back is a race, as a rule. */
export const confirmedInWords = ({ failed, tried }: NonNullable<ReportedRequirement["confirmed"]>): string => {
  const done = `done ${times(tried)} more, it`
  if (failed === 0) return `${done} did not fail again: it probably depends on timing`
  return failed === tried ? `${done} failed each time` : `${done} failed ${times(failed)}`
}

const curlLine = (curl: string): string =>
  curl.length <= longestCurl ? curl : "the request is long: see `curl` in the JSON report (--report json=FILE)"

/** The first line of what there is to say, and the last. */
const frame = (requirement: ReportedRequirement, lines: ReadonlyArray<string>): ReadonlyArray<string> => [
  "",
  `${requirement.verdict}  ${requirement.id}${requirement.known ? "  (known: it is in the baseline)" : ""}`,
  ...lines,
  `  Again      ${requirement.replay}`
]

/** All there is to say of a requirement that did not pass, among all of its report. */
export const explain = (
  requirement: ReportedRequirement,
  all: ReadonlyArray<ReportedRequirement>
): ReadonlyArray<string> => {
  const follows = followingInWords(requirement, all)
  const { because, confirmed, curl, effects, expected, history, observed, source, statement, verdict } = requirement
  const broken = verdict === "FAIL" || verdict === "WARN"
  const seen = `  Observed   ${shownText(safeText(observed), 400)}`
  if (history.length === 0 && !broken) return frame(requirement, [`  The rule   ${statement}`, seen])
  return frame(requirement, [
    `  The rule   ${statement}`,
    `             (${source})`,
    `  Expected   ${expected}`,
    seen,
    ...(follows === null ? [] : [`  Follows    ${follows}`]),
    ...(history.length === 0 ? [] : ["  History", ...stepLines(requirement)]),
    ...(effects.length === 0
      ? []
      : ["  Probe", ...notableEffects(requirement).map((one) => `    ${shownText(one, 300)}`)]),
    ...(confirmed === null ? [] : [`  Repeated   ${confirmedInWords(confirmed)}`]),
    ...(broken ? [`  Because    ${because}`] : []),
    ...(curl === null ? [] : [`  By hand    ${curlLine(curl)}`])
  ])
}

/** How what was observed begins where nothing was, for a reason that many requirements share. */
const untested = "not tested: "

/** What could not be tested is said once for all of it: it must not hide what failed. */
const untestedLines = (requirements: ReadonlyArray<ReportedRequirement>): ReadonlyArray<string> =>
  [...new Set(requirements.map(({ observed }) => observed))].flatMap((reason) => [
    "",
    `INCONCLUSIVE  ${requirements.flatMap(({ id, observed }) => (observed === reason ? [id] : [])).join(", ")}`,
    `  Observed   ${shownText(safeText(reason), 400)}`
  ])

/** What a run begins with. */
export const opening = (
  report: Pick<Report, "ack" | "deadlineMs" | "guardMs" | "level" | "seed" | "suite" | "target">
) =>
  [
    `${report.suite}, level ${report.level}, ${report.target}, seed ${report.seed}`,
    `An answer counts with ${report.ack === "200" ? "status 200" : "a 2xx status"} within ${report.deadlineMs} ms (measured to ${report.guardMs} ms).`,
    ""
  ].join("\n")

/** The numbers of each verdict, like `6 PASS, 1 FAIL`. */
export const tally = (report: Report): string =>
  countsOf(report)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(", ")

/** What a reader should know before trusting a verdict. */
export const cautions = ({ baseline, notes }: Report): ReadonlyArray<string> => [
  ...(baseline === null || baseline.stale.length === 0
    ? []
    : [`The baseline lists what does not fail any more: ${baseline.stale.join(", ")}. Take it out.`]),
  ...notes
]

/** The report as text for a terminal. */
export const render = (report: Report): string => {
  const { attempts, endedBecause, requirements } = report
  if (requirements.length === 0) return `${endedBecause} \`doorhook conformance list\` shows what there is.`
  const lines = columns(
    requirements.map(({ id, observed, statement, verdict }) => [
      verdict,
      id,
      verdict === "PASS" ? `${statement} (${shownText(observed, 400)})` : statement
    ])
  )
  // Where nothing could be sent, there is one reason for all of them, and it is told at the end.
  const unsettled = attempts === 0 ? [] : requirements.filter(isOpen)
  const alike = unsettled.filter(({ observed, verdict }) => verdict === "INCONCLUSIVE" && observed.startsWith(untested))
  const caution = cautions(report)
  return [
    // The reason for all that follows.
    ...(endedForAReason(report) ? [endedBecause, ""] : []),
    ...lines,
    ...unsettled.filter((one) => !alike.includes(one)).flatMap((one) => explain(one, requirements)),
    ...untestedLines(alike),
    "",
    ...(caution.length === 0 ? [] : [...caution.map((one) => `Note: ${shownText(one, 400)}`), ""]),
    `${endingOf(report)}${tally(report)}; ${attempts} attempts, deadline ${deadlineInWords(report)}.`
  ].join("\n")
}
