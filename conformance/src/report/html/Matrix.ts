/**
 * Every requirement with its verdict, and the boxes that show or hide verdicts.
 */
import type { Html } from "@doorhook/core"
import { verdicts } from "../../judgement/Finding.ts"
import type { Verdict } from "../../judgement/Finding.ts"
import { countsOf, meanings } from "../Explanation.ts"
import type { Explained, Summary } from "../Explanation.ts"
import type { Report } from "../Report.ts"
import { html, when } from "./Markup.ts"

const marks: Readonly<Record<Verdict, string>> = {
  PASS: "✓",
  FAIL: "✗",
  WARN: "!",
  INCONCLUSIVE: "?",
  NOT_OBSERVABLE: "–",
  SKIPPED: "·",
  ERROR: "⚡"
}

/** A verdict in small letters. */
export const named = (verdict: Verdict): string => verdict.toLowerCase().replace("_", " ")

const filtersOf = (report: Report): Html.Html =>
  html`<fieldset>
    <legend>Show</legend>
    ${countsOf(report).map(
      ([verdict, count]) =>
        html`<label style="--v: var(--${verdict})"
          ><input type="checkbox" id="show-${verdict}" checked autocomplete="off" /><span
            ><span class="v">${named(verdict)}</span> ${count}</span
          ></label
        >`
    )}
  </fieldset>`

const idsIn = (explained: ReadonlyArray<Explained>): ReadonlyArray<string> =>
  explained.flatMap(({ followers, ids }) => [...ids, ...idsIn(followers)])

export const matrixOf = (
  report: Report,
  summary: ReadonlyArray<Summary>,
  explained: ReadonlyArray<Explained>
): Html.Html => {
  const columns = verdicts.filter((verdict) => report.requirements.some((one) => one.verdict === verdict))
  const linked = new Set(idsIn(explained))
  const cell = (column: Verdict, verdict: Verdict): Html.Html =>
    html`<td class="mark" style="--v: var(--${column})">
      ${when(column === verdict, () => html`<b title="${named(column)}" aria-label="${named(column)}">${marks[column]}</b>`)}
    </td>`
  const row = ({ id, observed, scope, statement, verdict }: Summary["lines"][number]): Html.Html => {
    const link = linked.has(id) ? html`<a class="id" href="#${id}">${id}</a>` : html`<span class="id">${id}</span>`
    return html`<tr data-verdict="${verdict}">
      <td>
        ${link} <span class="soft">${scope}</span><br />${statement}${when(
          observed !== "",
          () => html` <span class="soft">(${observed})</span>`
        )}
      </td>
      ${columns.map((column) => cell(column, verdict))}
    </tr>`
  }
  return html`<h2 id="requirements">Requirements</h2>
    ${filtersOf(report)}
    <table class="matrix">
      <thead>
        <tr>
          <th scope="col">requirement</th>
          ${columns.map(
            (column) =>
              html`<th scope="col" class="mark" style="--v: var(--${column})">
                <span title="${meanings[column]}">${named(column)}</span>
              </th>`
          )}
        </tr>
      </thead>
      ${summary.map(
        ({ lines, name }) =>
          html`<tbody>
            <tr>
              <th colspan="${columns.length + 1}" scope="rowgroup">${name}</th>
            </tr>
            ${lines.map(row)}
          </tbody>`
      )}
    </table>`
}
