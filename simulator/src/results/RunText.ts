/** Output of a run: the progress line and the summary. */
import type { Measurements } from "./Measurements.ts"
import type { IntegrationLine, RunReport } from "./RunReport.ts"
import type { Quantiles } from "./Figures.ts"
import { clockAt, counted, duration, grouped, percent } from "./Format.ts"

const barLength = 24

/** `[#######-----]  58 %` */
const bar = (share: number): string => {
  const done = Math.max(0, Math.min(1, share))
  const filled = Math.round(done * barLength)
  return `[${"#".repeat(filled)}${"-".repeat(barLength - filled)}] ${`${Math.floor(done * 100)}`.padStart(3)} %`
}

export interface Progress {
  /** Completed share of the run, from 0 to 1; null if unknown. */
  readonly share: number | null
  /** Real time since the beginning, in milliseconds. */
  readonly elapsed: number
  /** Position in the plan. */
  readonly place: string
  readonly measured: Measurements
  /** Current activity once sending has ended; null before that. */
  readonly phase: string | null
}

/** Describes the current state of a run in one line. */
export const progressLine = ({ elapsed, measured, phase, place, share }: Progress): string => {
  const { latency, outcomes, statuses, totals } = measured
  const isSending = phase === null && share !== null && share > 0 && share < 1
  const noneAcknowledged = latency.ack.count === 0 && outcomes.acknowledged === undefined
  return [
    ...(share === null ? [] : [bar(share)]),
    ...(phase === null ? [] : [phase]),
    place,
    ...(isSending ? [`${duration((elapsed * (1 - share)) / share)} left`] : []),
    `events ${grouped(totals.accepted)}`,
    ...(totals.deliveries > 0 ? [`deliveries ${grouped(totals.deliveries)}`] : []),
    ...(totals.open > 0 ? [`open ${grouped(totals.open)}`] : []),
    ...(totals.failed > 0 ? [`failed ${grouped(totals.failed)}`] : []),
    ...(noneAcknowledged && Object.keys(outcomes).length > 0
      ? [`none acknowledged: ${outcomesText(outcomes, statuses)}`]
      : []),
    ...(latency.ack.count > 0 ? [`ack p99 ${duration(latency.ack.quantile(0.99))}`] : []),
    ...(latency.intended.count > 0 ? [`publish p99 ${duration(latency.intended.quantile(0.99))}`] : [])
  ].join("  ")
}

type Counts = Readonly<Record<string, number>>

const byFrequency = (counts: Counts) => Object.entries(counts).toSorted(([, a], [, b]) => b - a)

/** Maximum number of statuses to list separately. */
const mostStatuses = 3

/** Returns ` (401: 251, 500: 3)`, or nothing if no status is known. */
const statusesText = (statuses: Counts): string => {
  const all = byFrequency(statuses)
  const rest = all.slice(mostStatuses).reduce((sum, [, count]) => sum + count, 0)
  const named = all.slice(0, mostStatuses).map(([status, count]) => `${status}: ${grouped(count)}`)
  return all.length === 0 ? "" : ` (${[...named, ...(rest > 0 ? [`others: ${grouped(rest)}`] : [])].join(", ")})`
}

/** Lists the outcomes of requests, the most frequent first: `bad_status 12 (401: 12), timeout 3`. */
export const outcomesText = (outcomes: Counts, statuses: Counts): string =>
  byFrequency(outcomes)
    .map(([outcome, count]) => `${outcome} ${grouped(count)}${outcome === "bad_status" ? statusesText(statuses) : ""}`)
    .join(", ")

/** States in a sentence or two whether anything was lost. */
const lossText = ({ totals }: RunReport): string => {
  const { accepted, call_ended, deliveries, failed, lost, unfollowed } = totals
  const ends = [
    [totals.delivered, "delivered"],
    [totals.exhausted, "given up after the last retry"],
    [totals.expired, "expired (calls past their lifetime)"],
    [call_ended, "cancelled because their call had ended"],
    [totals.cancelled - call_ended, "cancelled"],
    [totals.skipped, "skipped (integration disabled)"],
    [totals.open, "still open at the end"]
  ] as const
  const list = ends.flatMap(([count, name]) => (count > 0 ? [`${grouped(count)} ${name}`] : [])).join(", ")
  const refused = failed > 0 ? ` ${counted(failed, "event")} not accepted (the publisher got an error).` : ""
  if (lost === null)
    return `Unknown: the service did not report the deliveries of ${counted(accepted, "event")}.${refused}`
  if (lost > 0) return `Yes: ${counted(lost, "delivery", "deliveries")} of accepted events not accounted for.${refused}`
  const unknown = unfollowed > 0 ? ` Not followed: ${counted(unfollowed, "more event")}.` : ""
  return `No. ${grouped(deliveries)} deliveries of ${grouped(accepted - unfollowed)} accepted events: ${list || "none"}.${unknown}${refused}`
}

const outageText = (report: RunReport, { name, outage, states }: IntegrationLine): string | null => {
  if (outage === null) return null
  const { cancelled, delivered_at, empty_at, exhausted, most_open, most_open_at } = outage
  if (most_open_at === null) return `${name}: nothing waited.`
  const most = `${name}: ${counted(most_open, "delivery", "deliveries")} waiting at most, ${clockAt(report, most_open_at)}`
  if (cancelled > 0)
    return `${most}; then its integration was disabled or deleted: ${grouped(states.cancelled)} cancelled, ${grouped(states.skipped)} skipped.`
  if (exhausted > 0) return `${most}; ${grouped(exhausted)} given up, because the schedule ended before the outage.`
  if (empty_at === null) return `${most}; some were still waiting when the run ended.`
  const since = delivered_at ?? most_open_at
  const what = delivered_at === null ? "that peak" : "the first was delivered again"
  return `${most}; none left ${clockAt(report, empty_at)}, ${duration(empty_at - since)} after ${what}.`
}

/** Describes the backlogs of the three worst outages and how long they took to drain, and the sum; null without outages. */
export const outagesText = (report: RunReport): string | null => {
  const worst = report.integration_lines
    .filter(({ outage }) => outage !== null)
    .toSorted((a, b) => (b.outage?.most_open ?? 0) - (a.outage?.most_open ?? 0))
  const most = 3
  const more = worst.length - most
  const waiting = worst.reduce((sum, { outage }) => sum + (outage?.most_open ?? 0), 0)
  const described = worst.slice(0, most).flatMap((line) => outageText(report, line) ?? [])
  if (described.length === 0) return null
  return [
    ...described,
    ...(more > 0
      ? [
          `${counted(more, "more integration")} had outages; ${grouped(waiting)} deliveries waited, if all peaks are added.`
        ]
      : [])
  ].join(" ")
}

export type Fact = readonly [name: string, value: string]

const quantileText = ({ max, p50, p99 }: Quantiles): string =>
  `p50 ${duration(p50)}, p99 ${duration(p99)}, max ${duration(max)}`

/** Returns `, 4,250 events/s`, or an empty text if `millis` is 0. */
const paceText = (events: number, millis: number): string =>
  millis > 0 ? `, ${grouped((events * 1_000) / millis)} events/s` : ""

/** Share of events or first requests in time below which the report says that the rate was not reached. */
const leastReached = 0.95

/** Describes what receivers were offered and what they got. */
const reachedText = ({ first_requests, totals }: RunReport): string => {
  const { begun = 0, offered = 0 } = first_requests ?? {}
  const share = totals.reached ?? 0
  const note =
    share < leastReached
      ? ": RATE NOT REACHED. At most ten requests to one integration are open at the same time: spread the load with --buildings"
      : ""
  return `offered ${offered} requests/s, got ${begun}; ${percent(share)} began within 1 s of acceptance${note}`
}

/** Returns the facts of a report by name, of which the summary and the HTML report are made. */
export const facts = (report: RunReport, lastFailure: string | null = null): ReadonlyArray<Fact> => {
  const { kind, latency, sample, sending, totals } = report
  const { acknowledged: _, not_sampled: __, ...others } = report.outcomes
  const [untried = 0] = report.attempts_per_delivery
  const last = report.attempts_per_delivery.length - 1
  const ended = report.attempts_per_delivery.flatMap((number, requests) =>
    number === 0
      ? []
      : `${counted(number, "delivery", "deliveries")} after ${requests}${requests === last ? " or more" : ""}`
  )
  const again = totals.open === 0 ? totals.requests - (totals.deliveries - untried) : 0
  const isReal = kind !== "virtual"
  const outages = outagesText(report)
  const when = (is: boolean, name: string, value: () => string): ReadonlyArray<Fact> => (is ? [[name, value()]] : [])
  const count = (name: keyof typeof totals): ReadonlyArray<Fact> =>
    when((totals[name] ?? 0) > 0, name, () => grouped(totals[name] ?? 0))
  const time = (name: keyof typeof latency, shown: string = name): ReadonlyArray<Fact> => {
    const quantiles = latency[name]
    return quantiles === null ? [] : [[shown, quantileText(quantiles)]]
  }
  const nothing = totals.planned === 0 && !report.interrupted
  return [
    [
      "planned",
      nothing
        ? "0 events in this time. Try a longer --duration, a busier hour with --start, or a higher --rate-scale"
        : `${grouped(totals.planned)} ${totals.planned === 1 ? "event" : "events"}`
    ],
    ["accepted", grouped(totals.accepted)],
    ["deliveries", grouped(totals.deliveries)],
    ...when(
      isReal || totals.failed > 0,
      "failed",
      () => `${grouped(totals.failed)}${lastFailure === null ? "" : ` (last: ${lastFailure})`}`
    ),
    ...when(kind === "service" || totals.republished > 0, "republished", () => counted(totals.republished, "request")),
    ...when(
      totals.held > 0,
      "held",
      () =>
        `${counted(totals.held, "publish request")} waited, because ${grouped(report.max_in_flight ?? 0)} were open (--max-inflight)`
    ),
    ...when(totals.unanswered > 0, "unanswered", () => `${grouped(totals.unanswered)} (sent or about to be sent)`),
    ...when(
      totals.requests > 0,
      "requests",
      () => `${grouped(totals.requests)}${again > 0 ? ` (${grouped(again)} of them retries)` : ""}`
    ),
    ...when(ended.length > 0, "attempts", () => ended.join(", ")),
    ...count("delivered"),
    ...count("exhausted"),
    ...count("expired"),
    ...count("cancelled"),
    ...count("skipped"),
    ...when(
      totals.open > 0,
      "open",
      () => `${grouped(totals.open)} when the wait ended (limited by ${isReal ? "--grace" : "--drain"})`
    ),
    ...count("lost"),
    ...when(totals.unfollowed > 0, "unfollowed", () => `${counted(totals.unfollowed, "event")}: too many to look up`),
    ...count("duplicates"),
    ...count("backlog"),
    ...when(Object.keys(others).length > 0, "not acked", () => outcomesText(others, report.statuses)),
    ...when(sample !== null && sample.wanted > 0, "sampled", () => {
      const { failed = 0, wanted = 0, why = null } = sample ?? {}
      return `${grouped(wanted - failed)} deliveries for request times${failed > 0 ? `; ${grouped(failed)} more lookups failed (${why})` : ""}`
    }),
    ...time("ack"),
    ...time("delivery"),
    ...(isReal ? [...time("intended"), ...time("service"), ...time("late_start", "late")] : []),
    ...when(
      totals.rate !== null,
      "rate",
      () =>
        `${percent(totals.rate ?? 0)} of events began within 1 s of their time${(totals.rate ?? 0) < leastReached ? ": RATE NOT REACHED" : ""}`
    ),
    ...when(report.first_requests !== null && totals.deliveries > 0, "receivers", () => reachedText(report)),
    ...when(
      totals.peak_planned > 0,
      "busiest",
      () =>
        `${grouped(totals.peak_planned)} events${totals.peak_requests === null ? "" : `, ${grouped(totals.peak_requests)} requests`} in a minute${totals.peak_second === null ? "" : `, ${counted(totals.peak_second, "request")} in a second`}${(report.speed ?? 1) === 1 ? "" : ", in the plan's time"}`
    ),
    ...when(report.crashes > 0, "crashes", () => grouped(report.crashes)),
    ...when(sending !== null, "sent", () => `in ${duration(sending ?? 0)}${paceText(totals.accepted, sending ?? 0)}`),
    ["took", `${(report.took / 1_000).toFixed(1)} s${sending === null ? paceText(totals.accepted, report.took) : ""}`],
    ["lost?", lossText(report)],
    ...when(outages !== null, "outage", () => outages ?? "")
  ]
}

/** Width of the longest name. It is a constant, because the summary is printed in parts. */
const nameWidth = "republished".length

/** Formats a line of a run's summary. */
export const summaryLine = (name: string, value: string): string => `${name.padEnd(nameWidth)}  ${value}`

/** Describes how a run ended, one figure per line: counts, losses, objectives and broken rules. */
export const summaryText = (report: RunReport, lastFailure: string | null = null): string => {
  const more = (report.totals.broken ?? 0) - report.violations.length
  const rows: ReadonlyArray<Fact> = [
    ...facts(report, lastFailure),
    ...report.slos.map(({ measured, met, slo }) => [met ? "met" : "MISSED", `${slo} (${measured})`] as const),
    ...report.violations.map(
      ({ at, rule, what }) => ["broken", `${rule}: ${what} (${new Date(at).toISOString()})`] as const
    ),
    ...(more > 0 ? [["broken", `in ${counted(more, "more place")}`] as const] : [])
  ]
  return rows.map(([name, value]) => summaryLine(name, value)).join("\n")
}
