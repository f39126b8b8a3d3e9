/**
 * The JSON report of a run. Times in milliseconds. Null means not measured: there was nothing to measure, or this kind
 * of run can't measure it.
 */
import { DeliveryState } from "@doorhook/core"
import type { Option } from "effect"
import { Record, Schema } from "effect"
import { Histogram } from "./Histogram.ts"
import type { Violation } from "./Ledger.ts"
import { rules } from "./Ledger.ts"
import type { IntegrationTotals } from "./Measurements.ts"
import { latencies, Measurements, noCounts } from "./Measurements.ts"
import type { Interval } from "./Series.ts"
import { noNumbers, Series } from "./Series.ts"
import type { Slo } from "./Slo.ts"
import { judgeSlo } from "./Slo.ts"
import { byLatency, Count, Quantiles, RunKind, figuresOf, Totals } from "./Figures.ts"

const schemaVersion = 3

/** Facts known before a run begins. */
export const RunFacts = Schema.Struct({
  kind: RunKind,
  /** Description of the target. */
  target: Schema.String,
  scenario: Schema.String,
  description: Schema.String,
  seed: Schema.Finite,
  /** Start in local time of the buildings. */
  start: Schema.String,
  /** Time zone of the buildings; null if they are in several. */
  time_zone: Schema.NullOr(Schema.String),
  duration: Schema.Finite,
  buildings: Schema.Finite,
  integrations: Schema.Finite,
  /** Speed relative to the plan; null without a schedule. */
  speed: Schema.NullOr(Schema.Finite),
  /** Null if these are settings of the service. */
  ack_timeout: Schema.NullOr(Schema.Finite),
  retry: Schema.NullOr(Schema.Record(Schema.String, Schema.Array(Schema.Finite))),
  /** Length of the warm-up, whose latencies are left out. */
  warm_up: Schema.Finite,
  /** `--max-inflight`; null on virtual time. */
  max_in_flight: Schema.NullOr(Schema.Finite),
  /** Share of one generator, like `1/3`; null for the whole load. */
  generator: Schema.NullOr(Schema.String),
  /** Command that repeats the run. */
  command: Schema.String,
  /** Beginning of the run in ISO 8601: in plan time if the run kept a schedule, else in real time. */
  began_at: Schema.String
})
export type RunFacts = typeof RunFacts.Type

const HistogramText = Schema.String.check(
  Schema.makeFilter((text) => Histogram.fromText(text) !== null || "must be a histogram of a report")
)

const IntegrationLine = Schema.Struct({
  id: Schema.Finite,
  name: Schema.String,
  /** Rules of the modelled receiver as written. Empty for a prompt or a real receiver. */
  receiver: Schema.String,
  down: Schema.Array(
    Schema.Struct({
      from: Schema.Finite,
      to: Schema.Finite,
      on: Schema.NullOr(Schema.String),
      swallows: Schema.Boolean
    })
  ),
  states: Schema.Record(DeliveryState, Schema.Finite),
  deliveries: Schema.Finite,
  requests: Schema.Finite,
  duplicates: Count,
  most_open: Count,
  most_open_at: Count,
  empty_at: Count,
  outage: Schema.NullOr(
    Schema.Struct({
      most_open: Schema.Finite,
      most_open_at: Count,
      delivered_at: Count,
      empty_at: Count,
      exhausted: Schema.Finite,
      cancelled: Schema.Finite
    })
  ),
  ack_p50: Count,
  ack_p99: Count,
  ack: HistogramText
})
export type IntegrationLine = typeof IntegrationLine.Type

export const SeriesLine = Schema.Struct({
  /** Start of the interval, in milliseconds since the beginning. */
  at: Schema.Finite,
  ...Record.map(noNumbers, () => Count),
  publish_p50: Count,
  publish_p99: Count,
  answer_p50: Count,
  answer_p99: Count
})
export type SeriesLine = typeof SeriesLine.Type

const RunReport = Schema.Struct({
  ...RunFacts.fields,
  schemaVersion: Schema.Literal(schemaVersion),
  /** Duration in real time, including the wait for open deliveries. */
  took: Schema.Finite,
  /** Duration of publishing, from the first event to the last answer; null on virtual time. */
  sending: Count,
  verdict: Schema.Literals(["pass", "fail"]),
  interrupted: Schema.Boolean,
  /** The missed objective that ended the run early, else null. */
  stopped_by: Schema.NullOr(Schema.String),
  totals: Totals,
  latency: byLatency(Schema.NullOr(Quantiles)),
  /** The same by resource type, with the ended deliveries by state. */
  types: Schema.Record(
    Schema.String,
    Schema.Struct({ latency: byLatency(Schema.NullOr(Quantiles)), states: Schema.Record(DeliveryState, Schema.Finite) })
  ),
  /**
   * First requests to receivers per second, while events were published: those that were due, and those that began. Null
   * for a service, and for a load without a schedule.
   */
  first_requests: Schema.NullOr(Schema.Struct({ offered: Schema.Finite, begun: Schema.Finite })),
  interval: Schema.Finite,
  series: Schema.Array(SeriesLine),
  /**
   * Number of settled deliveries with no request, with one, with two and so on; the last count includes those with
   * more.
   */
  attempts_per_delivery: Schema.Array(Schema.Finite),
  /** Numbers of requests by outcome, which add up to `totals.requests`. With a service, most are `not_sampled`. */
  outcomes: Schema.Record(Schema.String, Schema.Finite),
  /** Statuses of the answers that did not acknowledge. */
  statuses: Schema.Record(Schema.String, Schema.Finite),
  /** Deliveries whose attempts were looked up at a service; null for other runs. */
  sample: Schema.NullOr(
    Schema.Struct({ wanted: Schema.Finite, failed: Schema.Finite, why: Schema.NullOr(Schema.String) })
  ),
  integration_lines: Schema.Array(IntegrationLine),
  /** Number of times the run killed its engine. */
  crashes: Schema.Finite,
  slos: Schema.Array(Schema.Struct({ slo: Schema.String, met: Schema.Boolean, measured: Schema.String })),
  violations: Schema.Array(
    Schema.Struct({ rule: Schema.Literals(Record.keys(rules)), what: Schema.String, at: Schema.Finite })
  ),
  /** Exact counts (`sum max bucket:count ...`) for merging the reports of several generators. */
  histograms: byLatency(HistogramText),
  type_histograms: Schema.Record(Schema.String, byLatency(HistogramText)),
  series_histograms: Schema.Array(Schema.Struct({ publish: HistogramText, answer: HistogramText }))
})
export type RunReport = typeof RunReport.Type

/** Reads a JSON report for merging; none if the text is not a report of this version. */
export const readReport: (text: string) => Option.Option<RunReport> = Schema.decodeOption(
  Schema.fromJsonString(RunReport)
)

/** Measurements of a run, and the facts known at its end. */
export interface RunResult {
  readonly facts: RunFacts
  readonly measurements: Measurements
  readonly slos: ReadonlyArray<Slo>
  /** Null if the service did not report the deliveries. */
  readonly lost: number | null
  readonly broken: number
  readonly violations: ReadonlyArray<Violation>
  readonly crashes: number
  readonly took: number
  readonly sending: number | null
  readonly interrupted: boolean
  readonly stopped_by: string | null
  /** Whether the run had to stop because of an error. */
  readonly failed: boolean
}

const quantile = (histogram: Histogram, share: number): number | null =>
  histogram.count === 0 ? null : histogram.quantile(share)

const seriesLine = ({ answer, publish, ...counts }: Interval, at: number, kind: RunKind): SeriesLine => {
  const unseen = {
    requests: null,
    acknowledged: null,
    retries: null,
    duplicates: null,
    backlog: null,
    peak_requests: null
  }
  return {
    at,
    ...counts,
    ...(kind === "service" ? unseen : kind === "receiver" ? { duplicates: null } : {}),
    publish_p50: quantile(publish, 0.5),
    publish_p99: quantile(publish, 0.99),
    answer_p50: quantile(answer, 0.5),
    answer_p99: quantile(answer, 0.99)
  }
}

const integrationLine = (id: number, own: IntegrationTotals, kind: RunKind): IntegrationLine => {
  const { ack, open: _, receiver, ...counts } = own
  const unseen = { most_open: null, most_open_at: null, duplicates: null }
  return {
    id,
    ...counts,
    ...(kind === "service" ? unseen : kind === "receiver" ? { duplicates: null } : {}),
    receiver: receiver.text,
    down: receiver.down,
    ack_p50: quantile(ack, 0.5),
    ack_p99: quantile(ack, 0.99),
    ack: ack.toText()
  }
}

/** Whether a real receiver acknowledged nothing. The receiver is then probably not running, or its URL is wrong. */
export const isUnreached = ({ kind, outcomes, totals }: Pick<RunReport, "kind" | "outcomes" | "totals">): boolean =>
  kind === "receiver" && totals.requests > 0 && outcomes["acknowledged"] === undefined

/** Whether a service did not report the deliveries of accepted events. False for interrupted runs. */
export const isUnaccounted = ({
  interrupted,
  kind,
  totals
}: Pick<RunReport, "interrupted" | "kind" | "totals">): boolean =>
  kind === "service" && !interrupted && totals.lost === null && totals.accepted > 0

const firstRequestsOf = ({ facts, measurements, sending }: RunResult): RunReport["first_requests"] => {
  const { duration, kind, speed } = facts
  const millis = sending ?? duration
  if (kind === "service" || speed === null || millis <= 0) return null
  const { begun, offered } = measurements.totals
  const perSecond = (count: number) => Number(((count * 1_000) / millis).toPrecision(3))
  return { offered: perSecond(offered), begun: perSecond(begun) }
}

export const makeReport = (result: RunResult): RunReport => {
  const { broken, facts, failed, interrupted, lost, measurements, slos, stopped_by } = result
  const { kind } = facts
  const standing = figuresOf(measurements, kind, { lost, broken })
  const { totals } = standing
  const known = Object.values(measurements.outcomes).reduce((sum, count) => sum + count, 0)
  const outcomes = {
    ...measurements.outcomes,
    ...(totals.requests > known ? { not_sampled: totals.requests - known } : {})
  }
  const { series } = measurements
  const results = slos.map((slo) => judgeSlo(standing, slo))
  const isBad =
    failed ||
    isUnreached({ kind, outcomes, totals }) ||
    isUnaccounted({ kind, interrupted, totals }) ||
    broken > 0 ||
    (lost ?? 0) > 0 ||
    totals.failed > 0 ||
    stopped_by !== null ||
    results.some(({ met }) => !met)
  return {
    ...facts,
    schemaVersion,
    took: result.took,
    sending: result.sending,
    verdict: isBad ? "fail" : "pass",
    interrupted,
    stopped_by,
    ...standing,
    first_requests: firstRequestsOf(result),
    interval: series.width,
    series: series.intervals.map((interval, at) => seriesLine(interval, at * series.width, kind)),
    attempts_per_delivery: measurements.attemptsPerDelivery,
    outcomes,
    statuses: measurements.statuses,
    sample: kind === "service" ? measurements.sample : null,
    integration_lines: [...measurements.integrations].map(([id, line]) => integrationLine(id, line, kind)),
    crashes: result.crashes,
    slos: results,
    violations: result.violations,
    histograms: Record.map(measurements.latency, (histogram) => histogram.toText()),
    type_histograms: Object.fromEntries(
      [...measurements.types].map(([name, { latency }]) => [
        name,
        Record.map(latency, (histogram) => histogram.toText())
      ])
    ),
    series_histograms: series.intervals.map(({ answer, publish }) => ({
      publish: publish.toText(),
      answer: answer.toText()
    }))
  }
}

const histogramOf = (text = ""): Histogram => Histogram.fromText(text) ?? new Histogram()

const seriesOf = ({ interval, series, series_histograms }: RunReport): Series => {
  const read = new Series()
  read.widenTo(interval)
  series.forEach((line, nth) => {
    const into = read.at(nth * interval)
    for (const name of Record.keys(noNumbers)) into[name] = line[name] ?? 0
    into.publish.merge(histogramOf(series_histograms[nth]?.publish))
    into.answer.merge(histogramOf(series_histograms[nth]?.answer))
  })
  return read
}

/**
 * Combines the measurements of several generators. Counts add up and histograms merge exactly. Peaks are also added,
 * because they may have occurred at the same time. `backlog_at` is the time of the highest backlog of one generator.
 */
export const mergedMeasurements = (reports: ReadonlyArray<RunReport>): Measurements => {
  const all = new Measurements()
  // Each generator numbers the integrations of a service by first appearance, so only their names are comparable.
  const named = new Map<string, number>()
  const placeOf = ({ id, name }: IntegrationLine, kind: RunKind): number => {
    if (kind !== "service") return id
    const place = named.get(name) ?? named.size + 1
    named.set(name, place)
    return place
  }
  let highest = 0
  const add = (into: { [name: string]: number }, from: Readonly<{ [name: string]: number }>) => {
    for (const [name, count] of Object.entries(from)) into[name] = (into[name] ?? 0) + count
  }
  for (const report of reports) {
    for (const name of Record.keys(noCounts)) if (name !== "backlog_at") all.totals[name] += report.totals[name] ?? 0
    const { backlog, backlog_at } = report.totals
    if ((backlog ?? 0) > highest) {
      highest = backlog ?? 0
      all.totals.backlog_at = backlog_at ?? 0
    }
    const { not_sampled: _, ...outcomes } = report.outcomes
    add(all.outcomes, outcomes)
    add(all.statuses, report.statuses)
    report.attempts_per_delivery.forEach((count, at) => {
      all.attemptsPerDelivery[at] = (all.attemptsPerDelivery[at] ?? 0) + count
    })
    for (const name of latencies) all.latency[name].merge(histogramOf(report.histograms[name]))
    for (const [type, histograms] of Object.entries(report.type_histograms)) {
      const own = all.ofType(type)
      for (const name of latencies) own.latency[name].merge(histogramOf(histograms[name]))
      add(own.states, report.types[type]?.states ?? {})
    }
    all.series.merge(seriesOf(report))
    for (const line of report.integration_lines) {
      const own = all.integration(placeOf(line, report.kind), line.name)
      own.deliveries += line.deliveries
      own.requests += line.requests
      own.duplicates += line.duplicates ?? 0
      add(own.states, line.states)
      own.ack.merge(histogramOf(line.ack))
    }
    if (report.sample === null) continue
    all.sample.wanted += report.sample.wanted
    all.sample.failed += report.sample.failed
    all.sample.why ??= report.sample.why
  }
  return all
}
