/**
 * The report as one HTML file without scripts or external resources, so that an archived copy still opens years later.
 * The filters are style rules with `:has`; a browser without `:has` shows all rows and no filters.
 */
import { Html } from "@doorhook/core"
import { verdicts } from "../judgement/Verdict.ts"
import type { Verdict } from "../judgement/Verdict.ts"
import type { Block } from "./Blocks.ts"
import { explanationOf } from "./Explanation.ts"
import type { Explained, Explanation, Summary } from "./Explanation.ts"
import { deadlineInWords, safeText } from "./Report.ts"
import type { Report } from "./Report.ts"

const filters = verdicts
  .map((verdict) => `main:has(#show-${verdict}:not(:checked)) [data-verdict="${verdict}"] { display: none }`)
  .join("\n")

const style = `
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --ink: #1c2024; --soft: #5b6470; --line: #d9dde2; --code: #f2f4f6; --link: #0b5cad;
  --PASS: #17753c; --FAIL: #c0261c; --WARN: #8a5a00; --INCONCLUSIVE: #6b3fa0; --NOT_OBSERVABLE: #4d5966; --SKIPPED: #4d5966; --ERROR: #b3265f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1c2024; --ink: #e8eaed; --soft: #a4adb8; --line: #363d45; --code: #24292f; --link: #7ab8ff;
    --PASS: #5cc983; --FAIL: #ff8177; --WARN: #e6b450; --INCONCLUSIVE: #c3a1f5; --NOT_OBSERVABLE: #a4adb8; --SKIPPED: #a4adb8; --ERROR: #ff8fb8;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem }
h3 { font-size: 1rem; margin: 1.25rem 0 .35rem }
p { margin: .4rem 0 }
a { color: var(--link) }
.soft { color: var(--soft) }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem }
.head { border-left: .4rem solid var(--v) }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .5rem 1rem; margin: 1rem 0 0 }
.facts div { min-width: 0 } .facts div:first-child { grid-column: span 2 } .facts dt { color: var(--soft); font-size: .8rem } .facts dd { margin: 0 }
.note { border-left: .25rem solid var(--WARN); padding: .1rem .75rem; margin: .75rem 0 }
.v { color: var(--v); font-weight: 600; white-space: nowrap }
fieldset { border: 0; padding: 0; margin: 0 0 .75rem; display: flex; flex-wrap: wrap; gap: .35rem .9rem }
legend { padding: 0; color: var(--soft); font-size: .85rem }
label { display: inline-flex; gap: .4rem; align-items: center; min-height: 1.75rem }
@supports not selector(:has(a)) { fieldset { display: none } }
${filters}
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem; border-bottom: 1px solid var(--line) }
tbody th { padding-top: 1rem; border-bottom: 2px solid var(--line) }
td.v { width: 8.5rem }
.small { font-size: .85rem }
.id { font-weight: 600; white-space: nowrap }
details { margin: .75rem 0 } summary { cursor: pointer; padding: .15rem 0 }
details[data-verdict] { border-left: .4rem solid var(--v) }
details[data-verdict] > summary { list-style-position: inside }
dl.line { display: grid; grid-template-columns: 6.5rem 1fr; gap: .3rem .75rem; margin: .75rem 0 }
dl.line dt { color: var(--soft) } dl.line dd { margin: 0; min-width: 0 }
.followers { margin: 1rem 0 0 } .followers > summary { color: var(--soft) }
pre { background: var(--code); border-radius: .4rem; padding: .6rem .75rem; margin: .3rem 0; white-space: pre-wrap; font: .85rem/1.45 ui-monospace, monospace }
figure { margin: 1rem 0 } svg { width: 100%; height: 6rem; background: var(--code); border-radius: .4rem }
.rate { fill: var(--soft); opacity: .45 } .limited { fill: var(--WARN) } .mark { stroke: var(--FAIL); stroke-width: 2 }
.times { fill: none; stroke: var(--link); stroke-width: 1.5 }
@media (max-width: 34rem) {
  body { font-size: 15px } dl.line { grid-template-columns: 1fr } dl.line dt { margin-top: .35rem }
  .facts { grid-template-columns: 1fr 1fr } td.v { width: 6.5rem; font-size: .85rem; white-space: normal }
}
@media print { fieldset { display: none } details { break-inside: avoid } body { background: none } }
`

/** Builds HTML with secrets removed from its texts. Control characters and direction marks are shown as their codes. */
const html = Html.templateWith((text) =>
  safeText(text)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (one) =>
      one === "\n" ? one : `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`
    )
)

const when = (condition: boolean, content: () => Html.Html): Html.Html => (condition ? content() : Html.nothing)

/** Style that sets the colour of a verdict. */
const colour = (verdict: Verdict): string => `--v: var(--${verdict})`

/** Returns a verdict in lower-case words. */
const named = (verdict: Verdict): string => verdict.toLowerCase().replace("_", " ")

const colours: Readonly<Record<Report["verdict"], Verdict>> = {
  pass: "PASS",
  fail: "FAIL",
  inconclusive: "INCONCLUSIVE"
}

const inUnits = (milliseconds: number): string =>
  milliseconds >= 1_000 ? `${Number((milliseconds / 1_000).toFixed(2))} s` : `${Number(milliseconds.toFixed(1))} ms`

const headOf = (report: Report, { claim, counts, ending, headline, notes }: Explanation): Html.Html => {
  const { timing } = report
  const facts = {
    receiver: report.target,
    acknowledgement: `${report.ack === "200" ? "status 200" : "a 2xx status"} within ${deadlineInWords(report)}`,
    "answer times":
      timing.attempts === 0
        ? "not measured"
        : `half within ${inUnits(timing.p50Ms)}, 99 % within ${inUnits(timing.p99Ms)}`,
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
    ${when(report.timeline.length > 0, () => graphOf(report, null))}
    ${[...(ending === "" ? [] : [ending]), ...notes].map((note) => html`<p class="note">${note}</p>`)}`
}

const graph = { width: 600, height: 90 } as const

/** Draws the requests of each second as bars and the longest answers as a line. `at` marks a time of the run. */
const graphOf = ({ durationMs, timeline }: Report, at: number | null): Html.Html => {
  const seconds = Math.max(1, Math.ceil(durationMs / 1_000), ...timeline.map((one) => one.at + 1))
  const most = Math.max(1, ...timeline.map(({ requests }) => requests))
  const slowest = Math.max(1, ...timeline.map(({ maxMs }) => maxMs))
  const x = (second: number): number => Math.round((second / seconds) * graph.width * 10) / 10
  const up = (share: number): number => Math.round(share * (graph.height - 10) * 10) / 10
  const bars = timeline.map(({ at: second, limited, requests }) => {
    const height = up(requests / most)
    return html`<rect
      x="${x(second)}"
      y="${graph.height - height}"
      width="${Math.max(0.5, x(1) - 0.5)}"
      height="${height}"
      class="${limited > 0 ? "limited" : "rate"}"
    />`
  })
  const line = timeline
    .map(({ at: second, maxMs }) => `${x(second + 0.5)},${graph.height - up(maxMs / slowest)}`)
    .join(" ")
  const mark =
    at === null
      ? Html.nothing
      : html`<line x1="${x(at / 1_000)}" x2="${x(at / 1_000)}" y1="0" y2="${graph.height}" class="mark" />`
  const said = `Requests a second (bars, at most ${most}) and longest answers (line, at most ${inUnits(slowest)}) over ${seconds} s${at === null ? "" : `; the mark is at ${(at / 1_000).toFixed(1)} s`}`
  return html`<figure>
    <svg viewBox="0 0 ${graph.width} ${graph.height}" role="img" aria-label="${said}" preserveAspectRatio="none">
      ${bars}
      <polyline points="${line}" class="times" />
      ${mark}
    </svg>
    <figcaption class="soft small">${said}.</figcaption>
  </figure>`
}

const blockOf = ({ isImportant, label, lines: [line = "", ...others] }: Block): Html.Html =>
  others.length === 0
    ? html`<dl class="line">
        <dt>${label}</dt>
        <dd>${isImportant ? html`<b>${line}</b>` : line}</dd>
      </dl>`
    : html`<h3>${label}</h3>
        <pre>${[line, ...others].join("\n")}</pre>`

const cardOf = (
  report: Report,
  { blocks, followers, headline, ids, verdict }: Explained,
  isFolded: boolean
): Html.Html => {
  const found = report.requirements.find(({ id }) => id === ids[0])?.case ?? null
  const isOpen = !isFolded && (verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR")
  const links = ids.map((id, place) => html`${place === 0 ? "" : ", "}<span class="id" id="${id}">${id}</span>`)
  return html`<details
    class="card"
    data-verdict="${verdict}"
    style="${colour(verdict)}"
    ${Html.trusted(isOpen ? "open" : "")}
  >
    <summary><span class="v">${named(verdict)}</span> ${links} ${headline}</summary>
    ${blocks.map(blockOf)} ${when(!isFolded && found !== null, () => graphOf(report, found?.atMs ?? 0))}
    ${when(
      followers.length > 0,
      () =>
        html`<details class="followers">
          <summary>Probably caused by this: ${followers.flatMap((one) => one.ids).join(", ")}</summary>
          ${followers.map((one) => cardOf(report, one, true))}
        </details>`
    )}
  </details>`
}

const idsIn = (explained: ReadonlyArray<Explained>): ReadonlyArray<string> =>
  explained.flatMap(({ followers, ids }) => [...ids, ...idsIn(followers)])

/** Lists every requirement with its verdict, with check boxes to show or hide verdicts. */
const requirementsOf = (report: Report, { explained, summary }: Explanation): Html.Html => {
  const linked = new Set(idsIn(explained))
  const boxes = verdicts.flatMap((verdict) => {
    const count = report.requirements.filter((one) => one.verdict === verdict).length
    return count === 0 ? [] : [[verdict, count] as const]
  })
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
      ${boxes.map(box)}
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
            ${explained.map((one) => cardOf(report, one, false))}`
      )}
      ${requirementsOf(report, explanation)}
      <p class="soft">Times in a history count from its start. Signatures and other secrets are left out.</p>
    </main>`
  }).toString()
}
