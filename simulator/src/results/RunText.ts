/**
 * What a run tells the person at the terminal.
 */
import { counted, duration, grouped, percent } from "./Words.ts"
import type { Measurements } from "./Measurements.ts"
import type { Quantiles, RunReport } from "./RunReport.ts"
import type { RunSummary } from "./RunSummary.ts"

export { grouped } from "./Words.ts"

/** 3723000 as `1:02:03`. */
export const clock = (millis: number): string => {
  const seconds = Math.floor(millis / 1_000)
  const two = (number: number) => `${number}`.padStart(2, "0")
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

const barLength = 24

/** `[#######-----]  58 %` */
const bar = (share: number): string => {
  const done = Math.max(0, Math.min(1, share))
  const filled = Math.round(done * barLength)
  return `[${"#".repeat(filled)}${"-".repeat(barLength - filled)}] ${`${Math.floor(done * 100)}`.padStart(3)} %`
}

export interface Progress {
  /** How far it is, from 0 to 1; null where nobody knows. */
  readonly share: number | null
  /** Where in the plan, or how long it has gone on, in words. */
  readonly place: string
  readonly summary: RunSummary | null
  readonly measured: Measurements
  /** What is being done, when it is no longer sending. */
  readonly phase: string | null
}

/** How the run stands, in one line. */
export const progressLine = ({ measured, phase, place, share, summary }: Progress): string => {
  const late = measured.lateStart
  return [
    ...(share === null ? [] : [bar(share)]),
    ...(phase === null ? [] : [phase]),
    place,
    `events ${grouped(summary === null ? measured.accepted : summary.accepted)}`,
    `deliveries ${grouped(summary === null ? measured.deliveries : summary.deliveries)}`,
    ...(measured.open > 0 ? [`open ${grouped(measured.open)}`] : []),
    ...(summary !== null && summary.failed > 0 ? [`failed ${grouped(summary.failed)}`] : []),
    ...(measured.ack.count === 0 && measured.attempts > 0 && measured.outcomes.size > 0
      ? [
          `none acknowledged: ${outcomesText(Object.fromEntries(measured.outcomes), Object.fromEntries(measured.statuses))}`
        ]
      : []),
    ...(measured.ack.count > 0 ? [`ack p99 ${duration(measured.ack.quantile(0.99))}`] : []),
    ...(summary !== null && late.count > 0 ? [`late p99 ${duration(late.quantile(0.99))}`] : [])
  ].join("  ")
}

const quantileText = ({ max, p50, p99 }: Quantiles): string =>
  `p50 ${duration(p50)}, p99 ${duration(p99)}, max ${duration(max)}`

type Row = readonly [name: string, value: string]

type Counts = Readonly<Record<string, number>>

const byFrequency = (counts: Counts) => Object.entries(counts).toSorted(([, a], [, b]) => b - a)

/** The most statuses that are told apart. */
const mostStatuses = 3

/** ` (401: 251, 500: 3)`; nothing where no status is known. */
const statusesText = (statuses: Counts): string => {
  const all = byFrequency(statuses)
  const rest = all.slice(mostStatuses).reduce((sum, [, count]) => sum + count, 0)
  const named = all.slice(0, mostStatuses).map(([status, count]) => `${status}: ${grouped(count)}`)
  return all.length === 0 ? "" : ` (${[...named, ...(rest > 0 ? [`others: ${grouped(rest)}`] : [])].join(", ")})`
}

/** What requests to receivers came to, the most frequent first: `bad_status 12 (401: 12), timeout 3`. */
export const outcomesText = (outcomes: Counts, statuses: Counts): string =>
  byFrequency(outcomes)
    .map(([outcome, count]) => `${outcome} ${grouped(count)}${outcome === "bad_status" ? statusesText(statuses) : ""}`)
    .join(", ")

/** Requests that were not acknowledged, and why. */
const refusedRows = ({ kind, outcomes, statuses }: RunReport): ReadonlyArray<Row> => {
  const { acknowledged: _, ...others } = outcomes
  if (Object.keys(others).length === 0) return []
  // A service is asked about some of its deliveries, not all.
  const seen = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
  return [
    [
      "not acked",
      `${outcomesText(others, statuses)}${kind === "service" ? ` of ${grouped(seen)} that were looked at` : ""}`
    ]
  ]
}

const publishedRows = ({ kind }: RunReport, { failed, last_failure, retries }: RunSummary): ReadonlyArray<Row> => [
  ["failed", `${grouped(failed)}${last_failure === null ? "" : ` (last: ${last_failure})`}`],
  // In this process, publishing can hardly fail.
  ...(kind === "service" || retries > 0 ? [row("republished", counted(retries, "request"))] : [])
]

/** Requests to receivers, and how many of them were no first attempts where that is known: of what is settled. */
const requestsText = ({ attempts_per_delivery: [untried = 0], totals }: RunReport): string => {
  const { attempts, deliveries, open } = totals
  const again = attempts - (deliveries - untried)
  return `${grouped(attempts)}${open === 0 && again > 0 ? ` (${grouped(again)} of them again)` : ""}`
}

const row = (name: string, value: string): Row => [name, value]

const rateRow = (rate: number): Row => [
  "rate",
  `${percent(rate)} of events began within 1 s of their time${rate < 0.95 ? ": RATE NOT REACHED" : ""}`
]

/** What was still open is no loss: nobody waited for it any longer. */
const openRow = ({ kind, totals }: RunReport): Row => [
  "open",
  `${grouped(totals.open)} when the waiting ended; ${kind === "virtual" ? "--drain" : "--grace"} says how long that is`
]

/** `, 4,250 events/s`; nothing for what took no time. */
const rateText = (events: number, millis: number): string =>
  millis > 0 ? `, ${grouped((events * 1_000) / millis)} events/s` : ""

/** What was interrupted before its first event says nothing of its time. */
const plannedText = (planned: number, interrupted: boolean): string =>
  planned === 0 && !interrupted
    ? "0 events: nothing happens in this time. Give a longer --duration, a busier hour by --start, or more by --rate-scale"
    : `${grouped(planned)} ${planned === 1 ? "event" : "events"}`

const rowsOf = (report: RunReport, summary: RunSummary | null): ReadonlyArray<Row> => {
  const { latency, sending, totals, took } = report
  const quantiles = (name: string, value: Quantiles | null): ReadonlyArray<Row> =>
    value === null ? [] : [[name, quantileText(value)]]
  const count = (name: string, value: number): ReadonlyArray<Row> => (value === 0 ? [] : [[name, grouped(value)]])
  return [
    ["planned", plannedText(summary?.planned ?? totals.planned, report.interrupted)],
    ["accepted", grouped(summary?.accepted ?? totals.accepted)],
    ["deliveries", grouped(summary?.deliveries ?? totals.deliveries)],
    ...(summary === null ? [] : publishedRows(report, summary)),
    ...(totals.unanswered === 0 ? [] : [row("unanswered", `${grouped(totals.unanswered)} (sent or about to be)`)]),
    ...(totals.attempts === 0 ? [] : [row("requests", requestsText(report))]),
    ...count("delivered", totals.delivered),
    ...count("exhausted", totals.exhausted),
    ...count("expired", totals.expired),
    ...count("cancelled", totals.cancelled),
    ...count("skipped", totals.skipped),
    ...(totals.open === 0 ? [] : [openRow(report)]),
    ...count("lost", totals.lost ?? 0),
    ...(totals.unfollowed === 0
      ? []
      : [row("unfollowed", `${counted(totals.unfollowed, "event")}: nobody asked what became of them`)]),
    ...(totals.duplicates === null ? [] : count("duplicates", totals.duplicates)),
    ...count("backlog", totals.backlog ?? 0),
    ...refusedRows(report),
    ...quantiles("ack", latency.ack),
    ...quantiles("delivery", latency.delivery),
    ...(report.kind === "virtual" ? [] : quantiles("intended", latency.intended)),
    ...(report.kind === "virtual" ? [] : quantiles("service", latency.service)),
    ...(report.kind === "virtual" ? [] : quantiles("late", latency.late_start)),
    ...(totals.rate === null || report.kind === "virtual" ? [] : [rateRow(totals.rate)]),
    ...count("crashes", report.crashes),
    ...(sending === null ? [] : [row("sent", `in ${duration(sending)}${rateText(totals.accepted, sending)}`)]),
    ["took", `${(took / 1_000).toFixed(1)} s${sending === null ? rateText(totals.accepted, took) : ""}`]
  ]
}

/** As wide as the longest name of a number: the summary is printed in parts. */
const nameWidth = "republished".length

/** A line of a run's summary. */
export const summaryLine = (name: string, value: string): string => `${name.padEnd(nameWidth)}  ${value}`

/** How the run ended, one number a line, then objectives and broken rules. */
export const summaryText = (report: RunReport, summary: RunSummary | null): string => {
  const slos = report.slos.map(({ measured, met, slo }) => row(met ? "met" : "MISSED", `${slo} (${measured})`))
  const broken = report.violations.map(({ at, rule, what }) =>
    row("broken", `${rule}: ${what} (${new Date(at).toISOString()})`)
  )
  const more = (report.totals.broken ?? 0) - report.violations.length
  const beyond = more > 0 ? [row("broken", `in ${counted(more, "more place")}`)] : []
  const rows = [...rowsOf(report, summary), ...slos, ...broken, ...beyond]
  return rows.map(([name, value]) => summaryLine(name, value)).join("\n")
}
