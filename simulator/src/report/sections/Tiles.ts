/**
 * The numbers at the head of a report.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../results/RunReport.ts"
import { html } from "../Markup.ts"
import { duration, grouped, percent } from "../../results/Words.ts"

const tile = (name: string, value: string, more: string): Html.Html =>
  html`<div class="tile">
    <dt>${name}</dt>
    <dd>${value}<small>${more}</small></dd>
  </div>`

export const tiles = (report: RunReport): Html.Html => {
  const { latency, totals } = report
  const { delivered, deliveries, duplicates } = totals
  return html`<dl class="tiles">
    ${tile("Events", grouped(totals.accepted), totals.failed > 0 ? `${grouped(totals.failed)} refused` : "accepted")}
    ${tile("Deliveries", grouped(deliveries), `${grouped(totals.attempts)} requests`)}
    ${tile("Delivered", deliveries === 0 ? "–" : percent(delivered / deliveries), totals.open > 0 ? `${grouped(totals.open)} still open` : "of all deliveries")}
    ${tile("99 % within", latency.ack === null ? "–" : duration(latency.ack.p99), latency.ack === null ? "no answers" : `answers; half ${duration(latency.ack.p50)}`)}
    ${totals.backlog === null ? tile("Waiting at most", "–", "not measured") : tile("Waiting at most", grouped(totals.backlog), "deliveries at once")}
    ${
      duplicates === null
        ? tile("Given up", grouped(totals.exhausted + totals.expired), "exhausted or expired")
        : tile(
            "Duplicates",
            grouped(duplicates),
            duplicates === 0 ? "requests" : `${percent(duplicates / totals.attempts)} of requests`
          )
    }
  </dl>`
}
