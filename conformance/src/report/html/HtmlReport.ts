/**
 * The report as one HTML file: no network, no script, so that it can be kept as a build's artifact and opened years later.
 */
import { Html } from "@doorhook/core"
import type { Verdict } from "../../judgement/Finding.ts"
import { explanationOf } from "../Explanation.ts"
import type { Block, Explained, Explanation } from "../Explanation.ts"
import { deadlineInWords } from "../Report.ts"
import type { Report } from "../Report.ts"
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

const headOf = (report: Report, { claim, counts, ending, headline, notes }: Explanation): Html.Html =>
  html`<header class="card head" style="--v: var(--${colours[report.verdict]})">
      <h1>${headline}</h1>
      <p>${claim}: ${counts}.</p>
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
    ${when(ending !== "", () => html`<p class="note">${ending}</p>`)}
    ${notes.map((note) => html`<p class="note">${note}</p>`)}`

const titled = (label: string, content: Html.Html): Html.Html =>
  html`<h3>${label}</h3>
    ${content}`

/** A block other than a line: those stand in one list, side by side with their labels. */
const blockOf = (block: Block): Html.Html => {
  switch (block.kind) {
    case "line":
      return html`<dl class="told">
        <dt>${block.label}</dt>
        <dd>${block.important ? html`<b>${block.text}</b>` : block.text}</dd>
      </dl>`
    case "code":
      return titled(block.label, html`<pre>${block.text}</pre>`)
    case "steps":
      return titled(block.label, sequenceOf(block.steps))
    case "effects":
      return titled(
        block.label,
        html`<ul>
          ${block.lines.map((one) => html`<li>${one}</li>`)}
        </ul>`
      )
    case "difference":
      return titled(
        block.label,
        html`<table class="difference">
          <thead>
            <tr>
              <th scope="col">member</th>
              <th scope="col">sent</th>
              <th scope="col">stored</th>
            </tr>
          </thead>
          <tbody>
            ${block.members.map(
              ({ path, sent, stored }) =>
                html`<tr>
                  <th scope="row">${path}</th>
                  <td><code>${sent}</code></td>
                  <td><code>${stored}</code></td>
                </tr>`
            )}
          </tbody>
        </table>`
      )
  }
}

const isShown = ({ verdict }: Explained): boolean => verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR"

const cardOf = (explained: Explained, isFolded: boolean): Html.Html => {
  const { blocks, followers, headline, ids, verdict } = explained
  const [id = "", ...others] = ids
  return html`<details
    class="card"
    id="${id}"
    data-verdict="${verdict}"
    style="--v: var(--${verdict})"
    ${Html.trusted(isShown(explained) && !isFolded ? "open" : "")}
  >
    <summary>
      <span class="v">${named(verdict)}</span> <span class="id">${id}</span>${others.map(
        (other) => html`, <span class="id" id="${other}">${other}</span>`
      )}
      ${headline}
    </summary>
    ${blocks.map(blockOf)}
    ${when(
      followers.length > 0,
      () =>
        html`<details class="followers">
          <summary>Probably from this: ${followers.flatMap((one) => one.ids).join(", ")}</summary>
          ${followers.map((one) => cardOf(one, true))}
        </details>`
    )}
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
  const explanation = explanationOf(report)
  const { explained, headline, summary } = explanation
  return Html.page({
    title: html`${headline}: ${report.target}`,
    style,
    head: html`<meta
        http-equiv="Content-Security-Policy"
        content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"
      />
      <meta name="referrer" content="no-referrer" />
      <link rel="icon" href="data:," />`,
    body: html`<main>
      ${headOf(report, explanation)}
      ${when(
        explained.length > 0,
        () =>
          html`<h2 id="open">What did not pass</h2>
            ${explained.map((one) => cardOf(one, false))}`
      )}
      ${matrixOf(report, summary, explained)} ${histogramOf(report)} ${visibilityOf(report)}
      <p class="soft">
        Times are in milliseconds from the start of a history. Signatures and what else opens something are left out.
      </p>
    </main>`
  }).toString()
}
