/**
 * What each integration got.
 */
import type { Html } from "@doorhook/core"
import type { IntegrationLine, RunReport } from "../../results/RunReport.ts"
import { html } from "../Markup.ts"
import { counted, duration, grouped } from "../../results/Words.ts"
import type { Column } from "./Table.ts"
import { table } from "./Table.ts"

/** The most integrations that have a line of their own. */
const mostLines = 24

const columns: ReadonlyArray<Column> = [
  ["integration"],
  ["deliveries", "number"],
  ["how they ended"],
  ["requests", "number wide"],
  ["99 % answered in", "number wide"],
  ["waiting at most", "number wide"]
]

const endsOf = ({ deliveries, states }: IntegrationLine) => [
  { name: "delivered", class: "delivered", count: states.delivered },
  { name: "given up", class: "given-up", count: states.exhausted },
  { name: "expired", class: "expired", count: states.expired },
  { name: "cancelled or skipped", class: "cancelled", count: states.cancelled + states.skipped },
  {
    name: "waiting",
    class: "waiting",
    count: deliveries - states.delivered - states.exhausted - states.expired - states.cancelled - states.skipped
  }
]

const integrationRow = (line: IntegrationLine): Html.Html => {
  const ends = endsOf(line).filter(({ count }) => count > 0)
  const words = ends.map(({ count, name }) => `${grouped(count)} ${name}`).join(", ")
  return html`<tr>
    <td>${line.name}${line.receiver === "" ? null : html`<br /><code>${line.receiver}</code>`}</td>
    <td class="number">${grouped(line.deliveries)}</td>
    <td>
      <div class="stack" aria-hidden="true">
        ${ends.map(({ class: kind, count }) => html`<span class="${kind}" style="width:${((count / line.deliveries) * 100).toFixed(2)}%"></span>`)}
      </div>
      <small>${words}</small>
    </td>
    <td class="number wide">${grouped(line.attempts)}</td>
    <td class="number wide">${line.ack_p99 === null ? "–" : duration(line.ack_p99)}</td>
    <td class="number wide">${line.most_open === null ? "–" : grouped(line.most_open)}</td>
  </tr>`
}

export const integrations = ({ integration_lines }: RunReport): Html.Html | null => {
  const trouble = ({ deliveries, most_open, states }: IntegrationLine) =>
    (deliveries - states.delivered) * 1_000_000 + (most_open ?? 0)
  const sorted = integration_lines
    .filter(({ deliveries }) => deliveries > 0)
    .toSorted((a, b) => trouble(b) - trouble(a))
  if (sorted.length === 0) return null
  const rest = sorted.length - mostLines
  return html`<section aria-labelledby="integrations">
    <h2 id="integrations">Outcomes by integration</h2>
    ${table(columns, sorted.slice(0, mostLines).map(integrationRow))}
    ${rest > 0 ? html`<p class="lead">${counted(rest, "more integration")} with less trouble: see the JSON report.</p>` : null}
  </section>`
}
