/**
 * What happened over time.
 */
import type { Html } from "@doorhook/core"
import type { RunReport } from "../../results/RunReport.ts"
import { chart } from "../Chart.ts"
import { html } from "../Markup.ts"
import { linear, logarithmic } from "../Scale.ts"
import { duration, grouped } from "../../results/Words.ts"
import { bandsOf, timesOf } from "./TimeAxis.ts"

const highest = (values: ReadonlyArray<number | null>): number =>
  values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)

export const charts = (report: RunReport): Html.Html => {
  const { ack_timeout, interval, series } = report
  const times = timesOf(report)
  const bands = bandsOf(report)
  const each = `in each ${duration(interval)}`
  const planned = series.map((line) => line.planned)
  const sent = series.map((line) => line.sent)
  const p50 = series.map(({ answer_p50 }) => (answer_p50 === null ? null : Math.max(1, answer_p50)))
  const p99 = series.map(({ answer_p99 }) => (answer_p99 === null ? null : Math.max(1, answer_p99)))
  const open = series.map(({ backlog }) => backlog)
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
            description: `The median and the 99th percentile of request times, on a logarithmic scale${ack_timeout === null ? "" : `, with the limit of ${duration(ack_timeout)}`}. The highest 99th percentile is ${duration(highest(p99))}.${off}`,
            lines: [
              { name: "99 % within", color: "two", fill: false, values: p99 },
              { name: "half within", color: "one", fill: false, values: p50 }
            ],
            scale: logarithmic(10, Math.max((ack_timeout ?? 0) * 1.5, highest(p99))),
            markText: duration,
            limit: ack_timeout === null ? null : { value: ack_timeout, name: `${duration(ack_timeout)}: a retry` },
            times,
            bands
          })
    }
    ${
      report.totals.backlog === null
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
