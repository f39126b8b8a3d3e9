/**
 * How long answers took, with the deadline drawn in.
 */
import { Html } from "@doorhook/core"
import { deadlineInWords } from "../Report.ts"
import type { Report } from "../Report.ts"
import { html, when } from "./Markup.ts"

const inWords = (milliseconds: number): string =>
  milliseconds >= 1_000 ? `${Number((milliseconds / 1_000).toFixed(2))} s` : `${Number(milliseconds.toFixed(1))} ms`

export const histogramOf = (report: Report): Html.Html => {
  const { deadlineMs, timing } = report
  if (timing.attempts === 0) return Html.nothing
  const first = timing.histogram.findIndex(({ count }) => count > 0)
  const last = timing.histogram.findLastIndex(({ count }) => count > 0)
  const shown = timing.histogram.slice(Math.max(first, 0), last + 1)
  const most = Math.max(1, ...shown.map(({ count }) => count))
  const row = ({ count, upToMs }: (typeof shown)[number]): Html.Html =>
    html`<tr class="${upToMs > deadlineMs ? "late" : ""}">
      <td>≤ ${inWords(upToMs)}</td>
      <td>
        ${when(count > 0, () => html`<span class="bar" style="width:${Math.round((count / most) * 75)}%"></span> `)}${count}
      </td>
    </tr>`
  const within = shown.filter(({ upToMs }) => upToMs <= deadlineMs)
  const late = shown.filter(({ upToMs }) => upToMs > deadlineMs)
  return html`<h2 id="times">How long answers took</h2>
    <div class="card">
      <p>
        ${timing.attempts} answers while nothing else was going on: half within ${inWords(timing.p50Ms)}, 90 % within
        ${inWords(timing.p90Ms)}, 99 % within ${inWords(timing.p99Ms)}, the longest ${inWords(timing.maxMs)}.
      </p>
      <table class="bars">
        <tbody>
          ${within.map(row)}
          <tr class="deadline">
            <td colspan="2">${deadlineInWords(report)}: the deadline</td>
          </tr>
          ${late.map(row)}
        </tbody>
      </table>
    </div>`
}
