/**
 * Every requirement with its verdict, and the boxes that show or hide verdicts.
 */
import type { Html } from "@doorhook/core"
import { verdicts } from "../../checks/Finding.ts"
import type { Verdict } from "../../checks/Finding.ts"
import { countsOf, groupsOf, isOpen, meanings } from "../Grouping.ts"
import type { Report, ReportedRequirement } from "../Report.ts"
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

export const matrixOf = (report: Report): Html.Html => {
  const columns = verdicts.filter((verdict) => report.requirements.some((one) => one.verdict === verdict))
  const cell = (column: Verdict, { verdict }: ReportedRequirement): Html.Html =>
    html`<td class="mark" style="--v: var(--${column})">
      ${when(column === verdict, () => html`<b title="${named(column)}" aria-label="${named(column)}">${marks[column]}</b>`)}
    </td>`
  const row = (requirement: ReportedRequirement): Html.Html => {
    const { id, level, observed, profile, statement, strength } = requirement
    const link = isOpen(requirement) ? html`<a class="id" href="#${id}">${id}</a>` : html`<span class="id">${id}</span>`
    return html`<tr data-verdict="${requirement.verdict}">
      <td>
        ${link}
        <span class="soft"
          >level ${level}${profile === null ? "" : `, ${profile}`}${strength === "MUST" ? "" : ", should"}</span
        ><br />${statement}${when(requirement.verdict === "PASS", () => html` <span class="soft">(${observed})</span>`)}
      </td>
      ${columns.map((column) => cell(column, requirement))}
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
      ${groupsOf(report).map(
        ({ name, requirements }) =>
          html`<tbody>
            <tr>
              <th colspan="${columns.length + 1}" scope="rowgroup">${name}</th>
            </tr>
            ${requirements.map(row)}
          </tbody>`
      )}
    </table>`
}
