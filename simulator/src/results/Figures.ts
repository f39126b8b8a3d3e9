/** The totals and latencies that a run has measured so far: the figures that objectives and the report are made of. */
import { Record, Schema } from "effect"
import type { Histogram } from "./Histogram.ts"
import type { Latencies, Measurements, TypeFigures } from "./Measurements.ts"
import { inTime, noCounts } from "./Measurements.ts"

/** Kinds of runs, by the destination of the events. */
export const RunKind = Schema.Literals(["virtual", "in-process", "receiver", "service"])
export type RunKind = typeof RunKind.Type

/** A figure that some kinds of runs can't measure. */
export const Count = Schema.NullOr(Schema.Finite)

export const Quantiles = Schema.Struct({
  count: Schema.Finite,
  mean: Schema.Finite,
  p50: Schema.Finite,
  p90: Schema.Finite,
  p95: Schema.Finite,
  p99: Schema.Finite,
  "p99.9": Schema.Finite,
  max: Schema.Finite
})
export type Quantiles = typeof Quantiles.Type

export const byLatency = <S extends Schema.Top>(schema: S) =>
  Schema.Struct({
    ack: schema,
    answer: schema,
    delivery: schema,
    queued: schema,
    intended: schema,
    service: schema,
    late_start: schema
  })

export const Totals = Schema.Struct({
  ...Record.map(noCounts, () => Schema.Finite),
  // Null for kinds of runs that can't measure them.
  backlog: Count,
  backlog_at: Count,
  most_in_flight: Count,
  peak_requests: Count,
  peak_second: Count,
  begun: Count,
  offered: Count,
  duplicates: Count,
  /** Deliveries of accepted events that are unaccounted for. */
  lost: Count,
  /** Number of violations of a delivery rule. */
  broken: Count,
  /** Share of events whose sending began within a second of their time. */
  rate: Count,
  /** Share of deliveries whose first request began within a second of their acceptance. */
  reached: Count
})

type Quantified = Readonly<Record<keyof Latencies, Quantiles | null>>

/** Totals and latencies, at some time of a run or at its end. */
export interface Figures {
  readonly totals: typeof Totals.Type
  readonly latency: Quantified
  /** The same by resource type. */
  readonly types: Readonly<Record<string, { readonly latency: Quantified; readonly states: TypeFigures["states"] }>>
}

const quantilesOf = (histogram: Histogram): Quantiles | null =>
  histogram.count === 0
    ? null
    : {
        count: histogram.count,
        mean: Math.round(histogram.mean * 100) / 100,
        p50: histogram.quantile(0.5),
        p90: histogram.quantile(0.9),
        p95: histogram.quantile(0.95),
        p99: histogram.quantile(0.99),
        "p99.9": histogram.quantile(0.999),
        max: histogram.max
      }

/** Returns the current totals and latencies, for objectives and progress. */
export const figuresOf = (
  { latency, totals, types }: Measurements,
  kind: RunKind,
  { broken, lost }: { readonly lost: number | null; readonly broken: number }
): Figures => {
  const hasEngine = kind !== "service"
  const late = latency.late_start
  const ifEngine = (value: number) => (hasEngine ? value : null)
  return {
    latency: Record.map(latency, quantilesOf),
    types: Object.fromEntries(
      [...types].map(([name, own]) => [name, { latency: Record.map(own.latency, quantilesOf), states: own.states }])
    ),
    totals: {
      ...totals,
      duplicates: kind === "virtual" || kind === "in-process" ? totals.duplicates : null,
      backlog: ifEngine(totals.backlog),
      backlog_at: ifEngine(totals.backlog_at),
      most_in_flight: ifEngine(totals.most_in_flight),
      peak_requests: ifEngine(totals.peak_requests),
      peak_second: ifEngine(totals.peak_second),
      begun: ifEngine(totals.begun),
      offered: ifEngine(totals.offered),
      broken: ifEngine(broken),
      lost,
      rate: late.count > 0 && kind !== "virtual" ? late.shareUpTo(inTime) : null,
      reached: hasEngine && latency.queued.count > 0 ? latency.queued.shareUpTo(inTime) : null
    }
  }
}
