/**
 * The report as one HTML file: no script, no request, nothing beside it.
 */
import type { IntegrationLine, RunReport } from "../run/RunReport.ts"
import { rules } from "../run/Ledger.ts"
import type { ChartOptions } from "./Chart.ts"
import { chart } from "./Chart.ts"
import type { Markup } from "./Markup.ts"
import { html, Markup as Raw } from "./Markup.ts"
import { linear, logarithmic, timeMarks } from "./Scale.ts"
import { style } from "./Style.ts"
import { counted, duration, grouped, momentOf, percent } from "./Words.ts"

const hour = 3_600_000
const day = 24 * hour

/** The most integrations that have a line of their own. */
const mostLines = 24

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const
/** The week as people have it here: Monday first. */
const week = [1, 2, 3, 4, 5, 6, 0] as const

const kinds = {
  virtual: "a run on virtual time",
  "in-process": "a run against modelled receivers",
  service: "a run against a service",
  receiver: "a run against a receiver"
} as const

const offsetOf = ({ start }: RunReport): number => {
  const match = /T(\d\d):(\d\d)/.exec(start)
  return match === null ? 0 : Number(match[1]) * hour + Number(match[2]) * 60_000
}

const lengthOf = ({ interval, series }: RunReport): number => Math.max(1, series.length) * interval

/** Whether the axis is that of the plan, or that of a stopwatch. */
const hasClock = ({ speed }: RunReport): boolean => speed !== null

const timesOf = (report: RunReport): ChartOptions["times"] => {
  const length = lengthOf(report)
  const offset = hasClock(report) ? offsetOf(report) : 0
  return timeMarks(length, offset).map((at) => ({
    at: (at / length) * 100,
    name: !hasClock(report)
      ? duration(at)
      : length > 2 * day
        ? (offset + at) % day === 0
          ? `day ${Math.floor((offset + at) / day) + 1}`
          : momentOf(at, offset, false)
        : momentOf(at, offset, false)
  }))
}

/** When receivers were down by the clock, where all of them say the same. */
const bandsOf = (report: RunReport): ChartOptions["bands"] => {
  if (!hasClock(report)) return []
  const windows = new Set(
    report.integration_lines.flatMap(({ receiver }) =>
      [...receiver.matchAll(/down:(\d\d):(\d\d)-(\d\d):(\d\d)(?:,on=([\d-]+))?/g)].map((match) =>
        match.slice(1).join(" ")
      )
    )
  )
  const length = lengthOf(report)
  const offset = offsetOf(report)
  const first = Date.parse(`${report.start.slice(0, 10)}T00:00:00Z`)
  return [...windows].flatMap((window) => {
    const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = window.split(" ").map(Number)
    const on = window.split(" ")[4] ?? ""
    const days = Array.from({ length: Math.ceil((length + offset) / day) }, (_, at) => at)
    return days
      .filter((at) => on === "" || first + at * day === Date.parse(`${on}T00:00:00Z`))
      .map((at) => {
        const from = at * day + fromHour * hour + fromMinute * 60_000 - offset
        const until = at * day + toHour * hour + toMinute * 60_000 - offset
        return {
          from: Math.max(0, (from / length) * 100),
          to: Math.min(100, ((until <= from ? until + day : until) / length) * 100)
        }
      })
      .filter(({ from, to }) => to > from)
  })
}

const highest = (values: ReadonlyArray<number | null>): number =>
  values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)

const charts = (report: RunReport): Markup => {
  const { ack_timeout, interval, series } = report
  const times = timesOf(report)
  const bands = bandsOf(report)
  const each = `in each ${duration(interval)}`
  const planned = series.map((line) => line.planned)
  const sent = series.map((line) => line.sent)
  const p50 = series.map(({ answer_p50 }) => (answer_p50 === null ? null : Math.max(1, answer_p50)))
  const p99 = series.map(({ answer_p99 }) => (answer_p99 === null ? null : Math.max(1, answer_p99)))
  const open = series.map((line) => line.backlog)
  const off = bands.length > 0 ? " The shaded times are those when a receiver is down." : ""
  return html`<div class="charts">
    ${chart({
      title: `Events ${each}`,
      description: `Planned and sent events over time. At most ${grouped(highest(planned))} were planned ${each}, ${grouped(highest(sent))} were sent.${off}`,
      lines: [
        { name: "planned", color: "one", fill: true, values: planned },
        { name: "sent", color: "two", fill: false, values: sent }
      ],
      scale: linear(Math.max(highest(planned), highest(sent))),
      markText: grouped,
      limit: null,
      times,
      bands
    })}
    ${
      highest(p99) === 0
        ? null
        : chart({
            title: "How long requests to receivers took",
            description: `The median and the 99th percentile of request times, on a logarithmic scale, with the limit of ${duration(ack_timeout)}. The highest 99th percentile is ${duration(highest(p99))}.${off}`,
            lines: [
              { name: "99 % within", color: "two", fill: false, values: p99 },
              { name: "half within", color: "one", fill: false, values: p50 }
            ],
            scale: logarithmic(10, Math.max(ack_timeout * 1.5, highest(p99))),
            markText: duration,
            limit: { value: ack_timeout, name: `${duration(ack_timeout)}: a retry` },
            times,
            bands
          })
    }
    ${
      report.kind === "service"
        ? null
        : chart({
            title: "Deliveries waiting",
            description: `Deliveries that were accepted and not settled, at most ${grouped(highest(open))} at one time.${off}`,
            lines: [{ name: "backlog", color: "three", fill: true, values: open }],
            scale: linear(highest(open)),
            markText: grouped,
            limit: null,
            times,
            bands
          })
    }
  </div>`
}

const tile = (name: string, value: string, more: string): Markup =>
  html`<div class="tile">
    <dt>${name}</dt>
    <dd>${value}<small>${more}</small></dd>
  </div>`

const tiles = (report: RunReport): Markup => {
  const { latency, totals } = report
  const { delivered, deliveries, duplicates } = totals
  return html`<dl class="tiles">
    ${tile("Events", grouped(totals.accepted), totals.failed > 0 ? `${grouped(totals.failed)} refused` : "accepted")}
    ${tile("Deliveries", grouped(deliveries), `${grouped(totals.attempts)} requests`)}
    ${tile("Delivered", deliveries === 0 ? "–" : percent(delivered / deliveries), totals.open > 0 ? `${grouped(totals.open)} still open` : "of all deliveries")}
    ${tile("99 % within", latency.ack === null ? "–" : duration(latency.ack.p99), latency.ack === null ? "no answers" : `answers; half ${duration(latency.ack.p50)}`)}
    ${tile("Waiting at most", grouped(totals.backlog), "deliveries at once")}
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

const answers = (report: RunReport): Markup =>
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

const slos = ({ slos: results }: RunReport): Markup | null =>
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

/** A bar for each count, the longest one as long as there is room. */
const bars = (rows: ReadonlyArray<readonly [name: string | number, count: number]>): Markup => {
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

const attemptBars = ({ attempts_per_delivery }: RunReport): Markup => {
  const last = attempts_per_delivery.length - 1
  const rows = attempts_per_delivery.flatMap((count, requests) => (count > 0 ? [{ count, requests }] : []))
  return html`<section class="card" aria-labelledby="attempts">
    <h3 id="attempts">Requests it took to settle a delivery</h3>
    ${rows.length === 0 ? html`<p>Nothing was settled.</p>` : null}
    ${bars(rows.map(({ count, requests }) => [requests === last ? `${requests} or more` : requests, count]))}
  </section>`
}

const outcomeBars = ({ outcomes }: RunReport): Markup => {
  const rows = Object.entries(outcomes).toSorted(([, a], [, b]) => b - a)
  return html`<section class="card" aria-labelledby="outcomes">
    <h3 id="outcomes">How requests ended</h3>
    ${rows.length === 0 ? html`<p>Nothing was sent.</p>` : null}
    ${bars(rows.map(([name, count]) => [name.replaceAll("_", " "), count]))}
  </section>`
}

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

const integrationRow = (line: IntegrationLine): Markup => {
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
    <td class="number wide">${duration(line.ack_p99)}</td>
    <td class="number wide">${grouped(line.most_open)}</td>
  </tr>`
}

const integrations = ({ integration_lines }: RunReport): Markup | null => {
  const trouble = ({ deliveries, most_open, states }: IntegrationLine) =>
    (deliveries - states.delivered) * 1_000_000 + most_open
  const sorted = integration_lines
    .filter(({ deliveries }) => deliveries > 0)
    .toSorted((a, b) => trouble(b) - trouble(a))
  if (sorted.length === 0) return null
  const rest = sorted.length - mostLines
  return html`<section aria-labelledby="integrations">
    <h2 id="integrations">Outcomes by integration</h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">integration</th>
            <th scope="col" class="number">deliveries</th>
            <th scope="col">how they ended</th>
            <th scope="col" class="number wide">requests</th>
            <th scope="col" class="number wide">99 % answered in</th>
            <th scope="col" class="number wide">waiting at most</th>
          </tr>
        </thead>
        <tbody>
          ${sorted.slice(0, mostLines).map(integrationRow)}
        </tbody>
      </table>
    </div>
    ${rest > 0 ? html`<p class="lead">${counted(rest, "more integration")} with less trouble: see the JSON report.</p>` : null}
  </section>`
}

const heatMap = (report: RunReport): Markup => {
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

const rulesKept = (report: RunReport): Markup | null => {
  if (report.kind === "service") return null
  const { broken } = report.totals
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
        ${Object.values(rules).map((rule) => html`<p>${rule}.</p>`)}
      </details>
    </div>
  </section>`
}

const verdictText = ({ interrupted, slos: results, totals, verdict }: RunReport): string => {
  const missed = results.filter(({ met }) => !met).length
  if (totals.broken > 0 || (totals.lost ?? 0) > 0) return "✗ A rule was broken"
  if (missed > 0) return `✗ ${counted(missed, "objective")} missed`
  if (verdict === "fail") return "✗ Failed"
  if (interrupted) return "◐ Interrupted"
  return results.length > 0 ? "✓ All objectives met" : "✓ All accounted for"
}

export const htmlReport = (report: RunReport): string => {
  // With hyphens at which no line breaks.
  const title = `${duration(report.duration)} of ${report.scenario.replaceAll("-", "\u2011")}`
  const count = `${grouped(report.buildings)} ${report.buildings === 1 ? "building" : "buildings"}`
  const lead = `${report.description}. ${count}, ${counted(report.integrations, "integration")}, from ${report.start.replace("T", " ")}, seed ${report.seed}; ${report.target}. It took ${duration(report.took)}.`
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <style>
          ${new Raw(style)}
        </style>
      </head>
      <body>
        <main>
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
        </main>
      </body>
    </html> `.text
}
