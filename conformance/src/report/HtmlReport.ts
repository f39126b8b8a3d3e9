/**
 * The report as one HTML file: no network and no script, so that a build can keep it and it opens years later.
 */
import { Html } from "@doorhook/core"
import type { Verdict } from "../judgement/Finding.ts"
import type { Block, StepBlock } from "./Blocks.ts"
import { countsOf, explanationOf } from "./Explanation.ts"
import type { Explained, Explanation, Summary } from "./Explanation.ts"
import { style } from "./HtmlStyle.ts"
import { safeText } from "./Redaction.ts"
import { deadlineInWords } from "./Report.ts"
import type { Report } from "./Report.ts"

/** Texts without secrets. Characters that are invisible or change the direction of writing are shown as their codes. */
const html = Html.templateWith((text) =>
  safeText(text)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (one) =>
      one === "\n" ? one : `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`
    )
)

const when = (condition: boolean, content: () => Html.Html): Html.Html => (condition ? content() : Html.nothing)

/** The colour of what stands for a verdict. */
const colour = (verdict: Verdict): string => `--v: var(--${verdict})`

/** A verdict as a word. */
const named = (verdict: Verdict): string => verdict.toLowerCase().replace("_", " ")

const colours: Readonly<Record<Report["verdict"], Verdict>> = {
  pass: "PASS",
  fail: "FAIL",
  inconclusive: "INCONCLUSIVE"
}

const headOf = (report: Report, { claim, counts, ending, headline, notes }: Explanation): Html.Html => {
  const facts = {
    receiver: report.target,
    acknowledgement: `${report.ack === "200" ? "status 200" : "a 2xx status"} within ${deadlineInWords(report)}`,
    "timing accuracy": `${report.guardMs} ms`,
    attempts: String(report.attempts),
    started: report.startedAt.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC"),
    duration: `${(report.durationMs / 1_000).toFixed(1)} s`,
    seed: String(report.seed),
    suite: report.suite
  }
  const fact = ([name, value]: readonly [string, string]): Html.Html =>
    html`<div>
      <dt>${name}</dt>
      <dd>${value}</dd>
    </div>`
  return html`<header class="card head" style="${colour(colours[report.verdict])}">
      <h1>${headline}</h1>
      <p>${claim}: ${counts}.</p>
      <dl class="facts">${Object.entries(facts).map(fact)}</dl>
    </header>
    ${[...(ending === "" ? [] : [ending]), ...notes].map((note) => html`<p class="note">${note}</p>`)}`
}

/** The longest part of a body that is shown. */
const longestBody = 600

const attemptOf = ({ attempt, decides, got, sent }: StepBlock["attempts"][number]): Html.Html => {
  const { body, bodyBytes } = attempt.request
  const request =
    body === ""
      ? html`${sent}`
      : html`<details>
          <summary>${sent}</summary>
          <pre>${body.slice(0, longestBody)}${body.length > longestBody ? "..." : ""}</pre>
          <span class="soft">${bodyBytes} bytes</span>
        </details>`
  return html`<li>
    <div class="arrow to">${request}</div>
    <div class="arrow ${attempt.status === null ? "none" : "from"}${decides ? " here" : ""}">
      ${got}${decides ? " ← here" : ""}
    </div>
  </li>`
}

const stepOf = ({ attempts, did, more, number }: StepBlock): Html.Html =>
  html`<li class="${attempts.length === 0 ? "aside" : "step"}">${number}. ${did}</li>
    ${attempts.map(attemptOf)}${when(more !== "", () => html`<li class="aside">${more}</li>`)}`

const contentOf = (block: Exclude<Block, { kind: "line" }>): Html.Html => {
  switch (block.kind) {
    case "code":
      return html`<pre>${block.text}</pre>`
    case "list":
      return html`<ul>
        ${block.lines.map((one) => html`<li>${one}</li>`)}
      </ul>`
    case "steps":
      // A sequence diagram as a list: it reads well aloud and on a narrow screen.
      return html`<div class="ends" aria-hidden="true"><span>the suite</span><span>the receiver</span></div>
        <ol class="sequence">
          ${block.steps.map(stepOf)}
        </ol>`
  }
}

const blockOf = (block: Block): Html.Html =>
  block.kind === "line"
    ? html`<dl class="line">
        <dt>${block.label}</dt>
        <dd>${block.important ? html`<b>${block.text}</b>` : block.text}</dd>
      </dl>`
    : html`<h3>${block.label}</h3>
        ${contentOf(block)}`

const cardOf = ({ blocks, followers, headline, ids, verdict }: Explained, isFolded: boolean): Html.Html => {
  const isOpen = !isFolded && (verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR")
  const links = ids.map((id, place) => html`${place === 0 ? "" : ", "}<span class="id" id="${id}">${id}</span>`)
  return html`<details
    class="card"
    data-verdict="${verdict}"
    style="${colour(verdict)}"
    ${Html.trusted(isOpen ? "open" : "")}
  >
    <summary><span class="v">${named(verdict)}</span> ${links} ${headline}</summary>
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

const idsIn = (explained: ReadonlyArray<Explained>): ReadonlyArray<string> =>
  explained.flatMap(({ followers, ids }) => [...ids, ...idsIn(followers)])

/** Every requirement with its verdict, and boxes that show or hide verdicts. */
const requirementsOf = (report: Report, { explained, summary }: Explanation): Html.Html => {
  const linked = new Set(idsIn(explained))
  const box = ([verdict, count]: readonly [Verdict, number]): Html.Html =>
    html`<label style="${colour(verdict)}"
      ><input type="checkbox" id="show-${verdict}" checked autocomplete="off" /><span
        ><span class="v">${named(verdict)}</span> ${count}</span
      ></label
    >`
  const row = ({ id, observed, scope, statement, verdict }: Summary["lines"][number]): Html.Html =>
    html`<tr data-verdict="${verdict}">
      <td class="v" style="${colour(verdict)}">${named(verdict)}</td>
      <td>
        ${linked.has(id) ? html`<a class="id" href="#${id}">${id}</a>` : html`<span class="id">${id}</span>`}
        <span class="soft">${scope}</span><br />${statement}
        ${when(observed !== "", () => html`<div class="soft small">${observed}</div>`)}
      </td>
    </tr>`
  return html`<h2 id="requirements">Requirements</h2>
    <fieldset>
      <legend>Show</legend>
      ${countsOf(report).map(box)}
    </fieldset>
    <table>
      ${summary.map(
        ({ lines, name }) =>
          html`<tbody>
            <tr>
              <th colspan="2" scope="rowgroup">${name}</th>
            </tr>
            ${lines.map(row)}
          </tbody>`
      )}
    </table>`
}

const inUnits = (milliseconds: number): string =>
  milliseconds >= 1_000 ? `${Number((milliseconds / 1_000).toFixed(2))} s` : `${Number(milliseconds.toFixed(1))} ms`

/** How long answers took, with a line at the deadline. */
const timesOf = (report: Report): Html.Html => {
  const { deadlineMs, timing } = report
  const shown = timing.histogram.filter(({ count }) => count > 0)
  if (shown.length === 0) return Html.nothing
  const most = Math.max(...shown.map(({ count }) => count))
  const row = ({ count, upToMs }: (typeof shown)[number]): Html.Html =>
    html`<tr class="${upToMs > deadlineMs ? "late" : ""}">
      <td>≤ ${inUnits(upToMs)}</td>
      <td><span class="bar" style="width:${Math.round((count / most) * 75)}%"></span> ${count}</td>
    </tr>`
  return html`<h2 id="times">How long answers took</h2>
    <div class="card">
      <p>
        ${timing.attempts} answers to single requests: half within ${inUnits(timing.p50Ms)}, 90 % within
        ${inUnits(timing.p90Ms)}, 99 % within ${inUnits(timing.p99Ms)}, the longest ${inUnits(timing.maxMs)}.
      </p>
      <table class="bars">
        <tbody>
          ${shown.filter(({ upToMs }) => upToMs <= deadlineMs).map(row)}
          <tr class="deadline">
            <td colspan="2">${deadlineInWords(report)}: the deadline</td>
          </tr>
          ${shown.filter(({ upToMs }) => upToMs > deadlineMs).map(row)}
        </tbody>
      </table>
    </div>`
}

const abilitiesOf = ({ observability }: Report): Html.Html =>
  when(
    observability.length > 0,
    () =>
      html`<h2 id="visibility">What the suite could see and do</h2>
        <table>
          <tbody>
            ${observability.map(
              ({ available, how, what }) =>
                html`<tr>
                  <td class="v" style="${colour(available ? "PASS" : "NOT_OBSERVABLE")}">
                    ${available ? "yes" : "no"}
                  </td>
                  <td>${what}<br /><span class="soft">${how}</span></td>
                </tr>`
            )}
          </tbody>
        </table>`
  )

export const toHtml = (report: Report): string => {
  const explanation = explanationOf(report)
  const { explained, headline } = explanation
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
      ${requirementsOf(report, explanation)} ${timesOf(report)} ${abilitiesOf(report)}
      <p class="soft">Times in a history count from its start. Signatures and other secrets are left out.</p>
    </main>`
  }).toString()
}
