/**
 * How requests ended, and how many it took.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../results/RunReport.ts"
import { html } from "../Markup.ts"
import { counted, grouped } from "../../results/Words.ts"

/** A bar for each count, the longest one as long as there is room. */
const bars = (rows: ReadonlyArray<readonly [name: string | number, count: number]>): Html.Html => {
  const most = Math.max(1, ...rows.map(([, count]) => count))
  return html`<div class="bars">
    ${rows.map(
      ([name, count]) =>
        html`<span>${name}</span
          ><span
            ><span
              class="bar"
              style="display:block;width:${Math.max(0.5, (count / most) * 100).toFixed(1)}%"
            ></span></span
          ><span class="number">${grouped(count)}</span>`
    )}
  </div>`
}

export const attemptBars = ({ attempts_per_delivery }: RunReport): Html.Html => {
  const last = attempts_per_delivery.length - 1
  const rows = attempts_per_delivery.flatMap((count, requests) => (count > 0 ? [{ count, requests }] : []))
  return html`<section class="card" aria-labelledby="attempts">
    <h3 id="attempts">Requests it took to settle a delivery</h3>
    ${rows.length === 0 ? html`<p>Nothing was settled.</p>` : null}
    ${bars(rows.map(({ count, requests }) => [requests === last ? `${requests} or more` : requests, count]))}
  </section>`
}

export const outcomeBars = ({ kind, outcomes }: RunReport): Html.Html => {
  const rows = Object.entries(outcomes).toSorted(([, a], [, b]) => b - a)
  const seen = rows.reduce((sum, [, count]) => sum + count, 0)
  return html`<section class="card" aria-labelledby="outcomes">
    <h3 id="outcomes">How requests ended</h3>
    ${rows.length === 0 ? html`<p>${kind === "service" ? "None was looked at." : "Nothing was sent."}</p>` : null}
    ${kind === "service" && rows.length > 0 ? html`<p>Of ${counted(seen, "request")} that the service was asked about.</p>` : null}
    ${bars(rows.map(([name, count]) => [name.replaceAll("_", " "), count]))}
  </section>`
}
