/** The report as one HTML file that needs no scripts, requests or other files, and the CSV of values over time. */
import { Html } from "@doorhook/core"
import { Record } from "effect"
import { rules } from "../results/Ledger.ts"
import type { IntegrationLine, RunReport } from "../results/RunReport.ts"
import { isUnaccounted, isUnreached, SeriesLine } from "../results/RunReport.ts"
import { facts } from "../results/RunText.ts"
import { counted, duration, grouped } from "../results/Format.ts"
import type { ChartOptions } from "./Chart.ts"
import { chart } from "./Chart.ts"
import { style } from "./Style.ts"

const html = Html.template

const csvColumns = Record.keys(SeriesLine.fields)

/** Returns one line for each interval (RFC 4180), with times in milliseconds. Empty fields were not measured. */
export const csvReport = ({ series }: RunReport): string =>
  [csvColumns.join(","), ...series.map((line) => csvColumns.map((column) => line[column] ?? "").join(",")), ""].join(
    "\r\n"
  )

const verdictText = (report: RunReport): string => {
  const { interrupted, slos, totals, verdict } = report
  const missed = slos.filter(({ met }) => !met).length
  if ((totals.broken ?? 0) > 0 || (totals.lost ?? 0) > 0) return "✗ A rule was broken"
  if (isUnreached(report)) return "✗ Nothing was acknowledged"
  if (isUnaccounted(report)) return "✗ Not accounted for"
  if (missed > 0) return `✗ ${counted(missed, "objective")} missed`
  if (verdict === "fail") return "✗ Failed"
  if (interrupted) return "◐ Interrupted"
  if (slos.length > 0) return "✓ All objectives met"
  return totals.unfollowed > 0 ? "✓ All followed deliveries accounted for" : "✓ All accounted for"
}

/** Returns a table that scrolls if the page is too narrow. A column has a name and, if needed, CSS classes. */
const table = (
  columns: ReadonlyArray<readonly [name: string, classes?: string]>,
  rows: ReadonlyArray<Html.Html>
): Html.Html =>
  html`<div class="scroll">
    <table>
      <thead>
        <tr>
          ${columns.map(([name, classes = ""]) => html`<th scope="col" class="${classes}">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`

const section = (id: string, title: string, body: Html.Html | null): Html.Html | null =>
  body === null
    ? null
    : html`<section aria-labelledby="${id}">
        <h2 id="${id}">${title}</h2>
        ${body}
      </section>`

const summary = (report: RunReport): Html.Html =>
  html`${table(
    [["figure"], ["value"]],
    facts(report).map(
      ([name, value]) =>
        html`<tr>
          <td>${name === "lost?" ? "Was anything lost?" : name}</td>
          <td class="${value.includes("RATE NOT REACHED") ? "missed" : ""}">${value}</td>
        </tr>`
    )
  )}
  ${report.stopped_by === null ? null : html`<p class="lead">Ended early, because ${report.stopped_by} was missed.</p>`}`

const objectives = ({ slos }: RunReport): Html.Html | null =>
  slos.length === 0
    ? null
    : table(
        [["objective"], ["measured", "number"], ["verdict"]],
        slos.map(
          ({ measured, met, slo }) =>
            html`<tr>
              <td><code>${slo}</code></td>
              <td class="number">${measured}</td>
              <td class="${met ? "met" : "missed"}">${met ? "✓ met" : "✗ missed"}</td>
            </tr>`
        )
      )

/** Number of events stored by offline devices from which the report draws them. */
const leastStored = 10

const charts = (report: RunReport): Html.Html => {
  const { ack_timeout, interval, series } = report
  const each = `in each ${duration(interval)}`
  const values = (name: keyof SeriesLine) => series.map((line) => line[name])
  const most = (name: keyof SeriesLine) => Math.max(0, ...values(name).map((value) => value ?? 0))
  const total = (...names: ReadonlyArray<keyof SeriesLine>) =>
    names.reduce((sum, name) => sum + values(name).reduce<number>((own, value) => own + (value ?? 0), 0), 0)
  const times = (name: "publish" | "answer"): ChartOptions["lines"] => [
    { name: "99 % within", color: "two", values: values(`${name}_p99`) },
    { name: "half within", color: "one", values: values(`${name}_p50`) }
  ]
  const errors = series.map(
    ({ acknowledged, failed, requests }) => (requests ?? 0) - (acknowledged ?? 0) + (failed ?? 0)
  )
  const retries = series.map((line) => (line.retries ?? 0) + (line.republished ?? 0))
  let level = 0
  const stored = series.map((line) => (level += (line.stored ?? 0) - (line.uploaded ?? 0)))
  const all: ReadonlyArray<ChartOptions | null> = [
    {
      title: `Events ${each}`,
      description: `Planned and sent events over time. At most ${grouped(most("planned"))} were planned ${each}, ${grouped(most("sent"))} were sent; in the busiest minute ${grouped(report.totals.peak_planned)} were planned.`,
      lines: [
        { name: "planned", color: "one", fill: true, values: values("planned") },
        { name: "sent", color: "two", values: values("sent") }
      ]
    },
    Math.max(...stored) < leastStored
      ? null
      : {
          title: `Offline devices: events stored, and uploaded ${each}`,
          description: `Events that happened more than five minutes before their publication. At most ${grouped(Math.max(...stored))} were stored by devices, and at most ${grouped(most("uploaded"))} were uploaded ${each}.`,
          lines: [
            { name: "stored", color: "three", fill: true, values: stored },
            { name: "uploaded", color: "two", values: values("uploaded") }
          ]
        },
    report.kind === "virtual" || most("publish_p99") === 0
      ? null
      : {
          title: "Publish latency, from the planned time",
          description: `Median and 99th percentile of the time from an event's planned time to its acceptance, on a logarithmic scale. The highest 99th percentile is ${duration(most("publish_p99"))}.`,
          lines: times("publish"),
          isTime: true
        },
    total("failed", "republished", "retries") + errors.reduce((sum, count) => sum + count, 0) === 0
      ? null
      : {
          title: `Errors and retries ${each}`,
          description: `Failed and repeated requests, to receivers and to publish: ${grouped(errors.reduce((sum, count) => sum + count, 0))} and ${grouped(retries.reduce((sum, count) => sum + count, 0))}.`,
          lines: [
            { name: "errors", color: "two", fill: true, values: errors },
            { name: "retries", color: "three", values: retries }
          ]
        },
    most("answer_p99") === 0
      ? null
      : {
          title: "How long requests to receivers took",
          description: `Median and 99th percentile of request times, on a logarithmic scale. The highest 99th percentile is ${duration(most("answer_p99"))}.`,
          lines: times("answer"),
          isTime: true,
          limit: ack_timeout === null ? null : { value: ack_timeout, name: `${duration(ack_timeout)}: timeout` }
        },
    report.totals.backlog === null
      ? null
      : {
          title: "Deliveries waiting",
          description: `Accepted deliveries that are not settled, at most ${grouped(report.totals.backlog)} at the same time.`,
          lines: [{ name: "backlog", color: "three", fill: true, values: values("backlog") }]
        }
  ]
  return html`<div class="charts">${all.flatMap((options) => (options === null ? [] : [chart(report, options)]))}</div>`
}

/** Maximum number of integrations to list. */
const mostLines = 24

const integrationRow = (line: IntegrationLine): Html.Html => {
  const { delivered, exhausted, expired, ...others } = line.states
  const ends = [
    ["delivered", "delivered", delivered],
    ["given up", "given-up", exhausted],
    ["expired", "expired", expired],
    ["cancelled or skipped", "cancelled", others.cancelled + others.skipped],
    ["waiting", "waiting", line.deliveries - delivered - exhausted - expired - others.cancelled - others.skipped]
  ] as const
  const some = ends.filter(([, , count]) => count > 0)
  return html`<tr>
    <td>${line.name}${line.receiver === "" ? null : html`<br /><code>${line.receiver}</code>`}</td>
    <td class="number">${grouped(line.deliveries)}</td>
    <td>
      <div class="stack" aria-hidden="true">
        ${some.map(([, kind, count]) => html`<span class="${kind}" style="width:${((count / line.deliveries) * 100).toFixed(2)}%"></span>`)}
      </div>
      <small>${some.map(([name, , count]) => `${grouped(count)} ${name}`).join(", ")}</small>
    </td>
    <td class="number wide">${grouped(line.requests)}</td>
    <td class="number wide">${line.ack_p99 === null ? "–" : duration(line.ack_p99)}</td>
    <td class="number wide">${line.most_open === null ? "–" : grouped(line.most_open)}</td>
  </tr>`
}

const integrations = ({ integration_lines }: RunReport): Html.Html | null => {
  const trouble = ({ deliveries, most_open, states }: IntegrationLine) =>
    (deliveries - states.delivered) * 1_000_000 + (most_open ?? 0)
  const sorted = integration_lines
    .filter(({ deliveries }) => deliveries > 0)
    .toSorted((a, b) => trouble(b) - trouble(a))
  if (sorted.length === 0) return null
  const rest = sorted.length - mostLines
  const columns = [
    ["integration"],
    ["deliveries", "number"],
    ["how they ended"],
    ["requests", "number wide"],
    ["99 % answered in", "number wide"],
    ["waiting at most", "number wide"]
  ] as const
  return html`${table(columns, sorted.slice(0, mostLines).map(integrationRow))}
  ${rest > 0 ? html`<p class="lead">${counted(rest, "more integration")} with less trouble: see the JSON report.</p>` : null}`
}

const rulesKept = ({ crashes, totals: { broken }, violations }: RunReport): Html.Html | null =>
  broken === null
    ? null
    : html`<div class="card">
        <p>
          ${broken === 0 ? "All deliveries were checked, and no rule was broken." : `A rule was broken in ${counted(broken, "place")}.`}
          ${crashes > 0 ? `The engine was killed ${crashes === 1 ? "once" : `${grouped(crashes)} times`}.` : null}
        </p>
        ${violations.map(({ at, rule, what }) => html`<p class="missed">${rule}: ${what} (${new Date(at).toISOString()})</p>`)}
        <details>
          <summary>The rules</summary>
          ${Object.values(rules).map((rule) => html`<p>${rule}.</p>`)}
        </details>
      </div>`

const kinds = {
  virtual: "a run on virtual time",
  "in-process": "a run against modelled receivers",
  service: "a run against a service",
  receiver: "a run against a receiver"
} as const

export const htmlReport = (report: RunReport): string => {
  // Non-breaking hyphens keep the name of the scenario on one line.
  const title = `${duration(report.duration)} of ${report.scenario.replaceAll("-", "\u2011")}`
  const lead = `${report.description === "" ? "" : `${report.description}: `}${counted(report.buildings, "building")}, ${counted(report.integrations, "integration")}. From ${report.start.replace("T", " ")}, seed ${report.seed}, ${report.target}. It took ${duration(report.took)}.`
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
      ${section("slos", "Objectives", objectives(report))} ${section("summary", "In short", summary(report))}
      ${section("time", "Over time", charts(report))}
      ${section("integrations", "Outcomes by integration", integrations(report))}
      ${section("rules", "Rules of delivery", rulesKept(report))}
      <footer>
        <p>To run it again with the same events:</p>
        <pre class="card">${report.command}</pre>
      </footer>
    </main>`
  }).toString()
}
