/**
 * What an operator asks, and what the run says to it.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../results/RunReport.ts"
import { html } from "../Markup.ts"

export const answers = (report: RunReport): Html.Html =>
  html`<section aria-labelledby="answers">
    <h2 id="answers">What an operator asks</h2>
    <div class="answers">
      ${report.answers.map(
        ({ answer, arithmetic, question }) =>
          html`<article class="card">
            <h3>${question}</h3>
            <p>${answer}</p>
            ${
              arithmetic === null
                ? null
                : html`<details>
                    <summary>How so</summary>
                    <p>${arithmetic}</p>
                  </details>`
            }
          </article>`
      )}
    </div>
  </section>`
