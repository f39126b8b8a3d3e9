/**
 * The report as one HTML file: no script, no request, nothing beside it.
 */
import { Html } from "@doorhook/core"
import { isUnaccounted, isUnreached } from "../results/MakeReport.ts"
import type { RunReport } from "../results/RunReport.ts"
import { html } from "./Markup.ts"
import { answers } from "./sections/AnswerCards.ts"
import { charts } from "./sections/Charts.ts"
import { integrations } from "./sections/Integrations.ts"
import { slos } from "./sections/Objectives.ts"
import { attemptBars, outcomeBars } from "./sections/Requests.ts"
import { rulesKept } from "./sections/RulesKept.ts"
import { tiles } from "./sections/Tiles.ts"
import { heatMap } from "./sections/Week.ts"
import { style } from "./Style.ts"
import { counted, duration, grouped } from "../results/Words.ts"

const kinds = {
  virtual: "a run on virtual time",
  "in-process": "a run against modelled receivers",
  service: "a run against a service",
  receiver: "a run against a receiver"
} as const

const verdictText = (report: RunReport): string => {
  const { interrupted, slos: results, totals, verdict } = report
  const missed = results.filter(({ met }) => !met).length
  if ((totals.broken ?? 0) > 0 || (totals.lost ?? 0) > 0) return "✗ A rule was broken"
  if (isUnreached(report)) return "✗ Nothing was acknowledged"
  if (isUnaccounted(report)) return "✗ Not accounted for"
  if (missed > 0) return `✗ ${counted(missed, "objective")} missed`
  if (verdict === "fail") return "✗ Failed"
  if (interrupted) return "◐ Interrupted"
  if (results.length > 0) return "✓ All objectives met"
  return totals.unfollowed > 0 ? "✓ All that was followed is accounted for" : "✓ All accounted for"
}

export const htmlReport = (report: RunReport): string => {
  // With hyphens at which no line breaks.
  const title = `${duration(report.duration)} of ${report.scenario.replaceAll("-", "\u2011")}`
  const count = `${grouped(report.buildings)} ${report.buildings === 1 ? "building" : "buildings"}`
  const lead = `${report.description}. ${count}, ${counted(report.integrations, "integration")}, from ${report.start.replace("T", " ")}, seed ${report.seed}; ${report.target}. It took ${duration(report.took)}.`
  return Html.page({
    title,
    style,
    head: html`<link rel="icon" href="data:," />`,
    body: html`<main>
      <header>
        <div>
          <p class="eyebrow">doorhook simulator, ${kinds[report.kind]}</p>
          <h1>${title}</h1>
        </div>
        <p class="verdict ${report.verdict === "fail" ? "bad" : ""}">${verdictText(report)}</p>
      </header>
      <p class="lead">${lead}</p>
      ${tiles(report)} ${slos(report)} ${answers(report)}
      <section aria-labelledby="time">
        <h2 id="time">Over time</h2>
        ${charts(report)}
      </section>
      ${integrations(report)}
      <section aria-labelledby="requests">
        <h2 id="requests">Requests</h2>
        <div class="pair">${attemptBars(report)}${outcomeBars(report)}</div>
      </section>
      ${heatMap(report)} ${rulesKept(report)}
      <footer>
        <p>Again, with the same events:</p>
        <pre class="card">${report.command}</pre>
      </footer>
    </main>`
  }).toString()
}
