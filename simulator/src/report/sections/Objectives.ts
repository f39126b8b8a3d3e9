/**
 * Objectives, and whether they were met.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../run/RunReport.ts"
import { html } from "../Markup.ts"

export const slos = ({ slos: results }: RunReport): Html.Html | null =>
  results.length === 0
    ? null
    : html`<section aria-labelledby="slos">
        <h2 id="slos">Objectives</h2>
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">objective</th>
                <th scope="col" class="number">measured</th>
                <th scope="col">verdict</th>
              </tr>
            </thead>
            <tbody>
              ${results.map(
                ({ measured, met, slo }) =>
                  html`<tr>
                    <td><code>${slo}</code></td>
                    <td class="number">${measured}</td>
                    <td class="${met ? "met" : "missed"}">${met ? "✓ met" : "✗ missed"}</td>
                  </tr>`
              )}
            </tbody>
          </table>
        </div>
      </section>`
