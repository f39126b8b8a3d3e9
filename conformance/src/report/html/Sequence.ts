/**
 * A history as a sequence diagram: the suite on the left, the receiver on the right, time downwards. It is a list, so
 * that it reads well aloud and on a narrow screen.
 */
import type { Html } from "@doorhook/core"
import { shownText } from "@doorhook/core"
import type { ReportedAttempt, ReportedRequirement, Step } from "../Report.ts"
import { html, when } from "./Markup.ts"

/** The longest part of a body that is shown. */
const longestBody = 600

const milliseconds = (value: number): string => `${Math.round(value)} ms`

const requestLine = ({ connection, number, request, startedMs, webhookId }: ReportedAttempt): string =>
  `${request.method} ${webhookId}, attempt ${number}, ${connection} connection, at ${milliseconds(startedMs)}`

const attemptOf = (attempt: ReportedAttempt, decisive: boolean): Html.Html => {
  const { excerpt, got, request, status } = attempt
  const answer = shownText(excerpt, 200)
  return html`<li>
    <div class="arrow to">${requestLine(attempt)}</div>
    ${when(
      request.body !== "",
      () =>
        html`<details class="soft">
          <summary>body, ${request.bodyBytes} bytes</summary>
          <pre>${request.body.slice(0, longestBody)}${request.body.length > longestBody ? "..." : ""}</pre>
        </details>`
    )}
    <div class="arrow ${status === null ? "none" : "from"}${decisive ? " here" : ""}">
      ${shownText(got, 300)}${answer === "" ? "" : `: ${answer}`}${decisive ? " ← here" : ""}
    </div>
  </li>`
}

const stepOf = (step: Step, place: number, { decidedBy }: ReportedRequirement): Html.Html => {
  if (step.attempts.length === 0) return html`<li class="aside">${place + 1}. ${step.did}</li>`
  return html`<li class="step">${place + 1}. ${step.did}</li>
    ${step.attempts.map((attempt, index) =>
      attemptOf(attempt, decidedBy?.step === place && decidedBy.attempt === index)
    )}${when(step.moreAttempts > 0, () => html`<li class="aside">and ${step.moreAttempts} more attempts</li>`)}`
}

export const sequenceOf = (requirement: ReportedRequirement): Html.Html =>
  when(
    requirement.history.length > 0,
    () =>
      html`<div class="ends" aria-hidden="true"><span>the suite</span><span>the receiver</span></div>
        <ol class="sequence lines">
          ${requirement.history.map((step, place) => stepOf(step, place, requirement))}
        </ol>`
  )
