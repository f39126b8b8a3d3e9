/**
 * Whether the rules of delivery were kept.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../results/RunReport.ts"
import { html } from "../Markup.ts"
import { counted, grouped } from "../../results/Words.ts"
import { rulesOf } from "../../results/Rules.ts"

export const rulesKept = (report: RunReport): Html.Html | null => {
  const { broken } = report.totals
  if (broken === null) return null
  const crashes =
    report.crashes > 0
      ? ` The engine was killed ${report.crashes === 1 ? "once" : `${grouped(report.crashes)} times`} in the middle of something.`
      : ""
  return html`<section aria-labelledby="rules">
    <h2 id="rules">Rules of delivery</h2>
    <div class="card">
      <p>
        ${
          broken === 0
            ? `Every delivery was followed from its acceptance to its end, and every rule was kept.${crashes}`
            : `${counted(broken, "place")} where a rule was broken.${crashes}`
        }
      </p>
      ${report.violations.map(({ at, rule, what }) => html`<p class="missed">${rule}: ${what} (${new Date(at).toISOString()})</p>`)}
      <details>
        <summary>The rules</summary>
        ${rulesOf(report.kind).map((rule) => html`<p>${rule}.</p>`)}
      </details>
    </div>
  </section>`
}
