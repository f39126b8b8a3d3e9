/**
 * What measurements say, as the report of a run holds it.
 */
import { activeStates } from "@doorhook/core"
import type { Histogram } from "./Histogram.ts"
import type { Measurements } from "./Measurements.ts"
import type { IntegrationLine, Quantiles, SeriesLine, Totals } from "./RunReport.ts"

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

/** The totals of measurements. `lost` is what whoever kept the accounts misses. */
export const totalsOf = (
  measured: Measurements,
  accounts: {
    readonly lost: number | null
    readonly broken: number
    /** Whether there was a schedule to keep. */
    readonly scheduled: boolean
    /** Whether the receivers were ours, so that duplicates are known. */
    readonly ownReceivers: boolean
  }
): Totals => {
  const { states } = measured
  const late = measured.lateStart
  return {
    planned: measured.planned,
    accepted: measured.accepted,
    failed: measured.refused,
    deliveries: measured.deliveries,
    delivered: states.delivered,
    exhausted: states.exhausted,
    expired: states.expired,
    cancelled: states.cancelled,
    skipped: states.skipped,
    open: measured.open + activeStates.reduce((sum, state) => sum + states[state], 0),
    lost: accounts.lost,
    attempts: measured.attempts,
    duplicates: accounts.ownReceivers ? measured.duplicates : null,
    backlog: measured.mostOpen,
    backlog_at: measured.mostOpenAt,
    most_in_flight: measured.mostInFlight,
    rate: accounts.scheduled && late.count > 0 ? late.shareUpTo(1_000) : null,
    repeated: measured.repeated,
    reordered: measured.reordered,
    delayed: measured.delayed,
    broken: accounts.broken
  }
}

const seriesOf = ({ series }: Measurements): ReadonlyArray<SeriesLine> =>
  series.intervals.map(({ acknowledged, answer, attempts, backlog, duplicates, planned, sent }, at) => ({
    at: at * series.width,
    planned,
    sent,
    attempts,
    acknowledged,
    duplicates,
    backlog,
    answer_p50: answer.count === 0 ? null : answer.quantile(0.5),
    answer_p99: answer.count === 0 ? null : answer.quantile(0.99)
  }))

/** What measurements say, as the report holds it. */
export const measuredParts = (measured: Measurements, ownReceivers: boolean) => ({
  latency: {
    ack: quantilesOf(measured.ack),
    delivery: quantilesOf(measured.delivery),
    intended: quantilesOf(measured.intended),
    service: quantilesOf(measured.service),
    late_start: quantilesOf(measured.lateStart)
  },
  interval: measured.series.width,
  series: seriesOf(measured),
  week: measured.week,
  attempts_per_delivery: measured.attemptsPerDelivery,
  outcomes: Object.fromEntries(measured.outcomes),
  integration_lines: [...measured.integrations].map(([id, line]): IntegrationLine => ({
    id,
    name: line.name,
    receiver: line.receiver,
    deliveries: line.deliveries,
    states: line.states,
    attempts: line.attempts,
    duplicates: ownReceivers ? line.duplicates : null,
    most_open: line.mostOpen,
    most_open_at: line.mostOpenAt,
    empty_at: line.emptyAt,
    ack_p50: line.ack.quantile(0.5),
    ack_p99: line.ack.quantile(0.99)
  }))
})
