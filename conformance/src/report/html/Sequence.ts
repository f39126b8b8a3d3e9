/**
 * A history as a sequence diagram: the suite on the left, the receiver on the right, time downwards. It is a list, so
 * that it reads well aloud and on a narrow screen.
 */
import type { Html } from "@doorhook/core"
import type { StepBlock } from "../Explanation.ts"
import { html, when } from "./Markup.ts"

/** The longest part of a body that is shown. */
const longestBody = 600

const attemptOf = ({ attempt, decides, got, sent }: StepBlock["attempts"][number]): Html.Html => {
  const { request, status } = attempt
  return html`<li>
    <div class="arrow to">${sent}</div>
    ${when(
      request.body !== "",
      () =>
        html`<details class="soft">
          <summary>body, ${request.bodyBytes} bytes</summary>
          <pre>${request.body.slice(0, longestBody)}${request.body.length > longestBody ? "..." : ""}</pre>
        </details>`
    )}
    <div class="arrow ${status === null ? "none" : "from"}${decides ? " here" : ""}">
      ${got}${decides ? " ← here" : ""}
    </div>
  </li>`
}

const stepOf = ({ attempts, did, more, number }: StepBlock): Html.Html =>
  attempts.length === 0
    ? html`<li class="aside">${number}. ${did}</li>`
    : html`<li class="step">${number}. ${did}</li>
        ${attempts.map(attemptOf)}${when(more !== "", () => html`<li class="aside">${more}</li>`)}`

export const sequenceOf = (steps: ReadonlyArray<StepBlock>): Html.Html =>
  html`<div class="ends" aria-hidden="true"><span>the suite</span><span>the receiver</span></div>
    <ol class="sequence lines">
      ${steps.map(stepOf)}
    </ol>`
