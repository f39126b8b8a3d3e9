/**
 * When people come and go: events by weekday and hour.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../results/RunReport.ts"
import { html } from "../Markup.ts"
import { grouped } from "../../results/Words.ts"

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const
/** The week as people have it here: Monday first. */
const week = [1, 2, 3, 4, 5, 6, 0] as const

export const heatMap = (report: RunReport): Html.Html => {
  const most = Math.max(1, ...report.week.flat())
  const hours = Array.from({ length: 24 }, (_, at) => at)
  return html`<section aria-labelledby="week">
    <h2 id="week">When people come and go</h2>
    <div class="card">
      <table class="heat">
        <caption class="hidden">
          Events by weekday and hour, by the clocks of the buildings
        </caption>
        <thead>
          <tr>
            <th scope="col"><span class="hidden">day</span></th>
            ${hours.map((at) => html`<th scope="col">${at % 3 === 0 ? at : html`<span class="hidden">${at}</span>`}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${week.map(
            (weekday) =>
              html`<tr>
                <th scope="row">${weekdays[weekday]}</th>
                ${hours.map((at) => {
                  const count = report.week[weekday]?.[at] ?? 0
                  const text = `${grouped(count)} events`
                  return html`<td
                    style="--w:${Math.round(Math.sqrt(count / most) * 100)}"
                    title="${weekdays[weekday]} ${at}:00: ${text}"
                  >
                    <span class="hidden">${count}</span>
                  </td>`
                })}
              </tr>`
          )}
        </tbody>
      </table>
    </div>
  </section>`
}
