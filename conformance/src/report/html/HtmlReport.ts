/**
 * The report as one HTML file: no network, no script, so that it can be kept as a build's artifact and opened years later.
 */
import { Html } from "@doorhook/core"
import type { Verdict } from "../../checks/Finding.ts"
import { claimWithGaps, headlineOf } from "../Claim.ts"
import { cautions, confirmedInWords, notableEffects, tally } from "../Console.ts"
import { endingOf } from "../Ending.ts"
import { followingInWords } from "../Following.ts"
import { isOpen } from "../Grouping.ts"
import { deadlineInWords } from "../Report.ts"
import type { Report, ReportedRequirement } from "../Report.ts"
import { histogramOf } from "./Histogram.ts"
import { html, when } from "./Markup.ts"
import { matrixOf, named } from "./Matrix.ts"
import { sequenceOf } from "./Sequence.ts"
import { style } from "./Style.ts"

const colours: Readonly<Record<Report["verdict"], Verdict>> = {
  pass: "PASS",
  fail: "FAIL",
  inconclusive: "INCONCLUSIVE"
}

const fact = (name: string, value: string): Html.Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`

const headOf = (report: Report): Html.Html =>
  html`<header class="card head" style="--v: var(--${colours[report.verdict]})">
      <h1>${headlineOf(report)}</h1>
      <p>${claimWithGaps(report)}: ${tally(report)}.</p>
      <dl class="facts">
        ${[
          fact("receiver", report.target),
          fact(
            "acknowledged by",
            `${report.ack === "200" ? "status 200" : "a 2xx status"} within ${deadlineInWords(report)}`
          ),
          fact("measured to", `${report.guardMs} ms`),
          fact("attempts", String(report.attempts)),
          fact("took", `${(report.durationMs / 1_000).toFixed(1)} s`),
          fact("started", report.startedAt),
          fact("seed", String(report.seed)),
          fact("suite", report.suite)
        ]}
      </dl>
    </header>
    ${when(report.endedBecause !== "", () => html`<p class="note">${endingOf(report)}${report.endedBecause}</p>`)}
    ${cautions(report).map((caution) => html`<p class="note">${caution}</p>`)}`

const toldOf = (name: string, value: Html.Html): Html.Html =>
  html`<dt>${name}</dt>
    <dd>${value}</dd>`

const explain = (requirement: ReportedRequirement, all: ReadonlyArray<ReportedRequirement>): Html.Html => {
  const follows = followingInWords(requirement, all)
  const {
    because,
    confirmed,
    curl,
    effects,
    expected,
    history,
    id,
    known,
    observed,
    replay,
    source,
    statement,
    verdict
  } = requirement
  return html`<details
    class="card"
    id="${id}"
    data-verdict="${verdict}"
    style="--v: var(--${verdict})"
    ${Html.trusted(verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR" ? "open" : "")}
  >
    <summary><span class="v">${named(verdict)}</span> <span class="id">${id}</span> ${statement}</summary>
    <dl class="told">
      ${toldOf("the rule", html`${statement} <span class="soft">(${source})</span>`)}${toldOf("expected", html`${expected}`)}${toldOf("observed", html`<b>${observed}</b>`)}${when(follows !== null, () => toldOf("follows", html`${follows ?? ""}`))}${when(confirmed !== null, () => (confirmed === null ? html`` : toldOf("repeated", html`${confirmedInWords(confirmed)}`)))}${toldOf("because", html`${because}`)}${when(known, () => toldOf("known", html`the baseline lists it`))}
    </dl>
    ${when(
      history.length > 0,
      () =>
        html`<h3>What was done</h3>
          ${sequenceOf(requirement)}`
    )}
    ${when(
      effects.length > 0,
      () =>
        html`<h3>What the probe said</h3>
          <ul>
            ${notableEffects(requirement).map((one) => html`<li>${one}</li>`)}
          </ul>`
    )}
    ${when(
      curl !== null,
      () =>
        html`<h3>By hand</h3>
          <pre>${curl ?? ""}</pre>`
    )}
    <h3>Again</h3>
    <pre>${replay}</pre>
  </details>`
}

const visibilityOf = ({ observability }: Report): Html.Html =>
  when(
    observability.length > 0,
    () =>
      html`<h2 id="visibility">What the suite could see and do</h2>
        <div class="card">
          <table>
            <tbody>
              ${observability.map(
                ({ available, how, what }) =>
                  html`<tr>
                    <td class="v" style="--v: var(--${available ? "PASS" : "NOT_OBSERVABLE"})">
                      ${available ? "yes" : "no"}
                    </td>
                    <td>${what}</td>
                    <td class="soft">${how}</td>
                  </tr>`
              )}
            </tbody>
          </table>
        </div>`
  )

export const toHtml = (report: Report): string => {
  const open = report.requirements.filter(isOpen)
  return Html.page({
    title: html`${headlineOf(report)}: ${report.target}`,
    style,
    head: html`<meta
        http-equiv="Content-Security-Policy"
        content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"
      />
      <meta name="referrer" content="no-referrer" />
      <link rel="icon" href="data:," />`,
    body: html`<main>
      ${headOf(report)}
      ${when(
        open.length > 0,
        () =>
          html`<h2 id="open">What did not pass</h2>
            ${open.map((one) => explain(one, report.requirements))}`
      )}
      ${matrixOf(report)} ${histogramOf(report)} ${visibilityOf(report)}
      <p class="soft">
        Times are in milliseconds from the start of a history. Signatures and what else opens something are left out.
      </p>
    </main>`
  }).toString()
}
