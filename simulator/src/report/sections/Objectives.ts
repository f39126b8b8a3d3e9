/**
 * Objectives, and whether they were met.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../results/RunReport.ts"
import { html } from "../Markup.ts"
import { table } from "./Table.ts"

const row = ({ measured, met, slo }: RunReport["slos"][number]): Html.Html =>
  html`<tr>
    <td><code>${slo}</code></td>
    <td class="number">${measured}</td>
    <td class="${met ? "met" : "missed"}">${met ? "✓ met" : "✗ missed"}</td>
  </tr>`

export const slos = ({ slos: results }: RunReport): Html.Html | null =>
  results.length === 0
    ? null
    : html`<section aria-labelledby="slos">
        <h2 id="slos">Objectives</h2>
        ${table([["objective"], ["measured", "number"], ["verdict"]], results.map(row))}
      </section>`
