/**
 * What measurements say, as the report of a run holds it.
 */
import { activeStates } from "@doorhook/core"
import type { Histogram } from "./Histogram.ts"
import type { IntegrationTotals, Measurements } from "./Measurements.ts"
import type { Outage } from "./Outage.ts"
import type { Knowledge, RunKind } from "./RunKind.ts"
import { knowledge } from "./RunKind.ts"
import type { IntegrationLine, OutageLine, Quantiles, SeriesLine, Totals } from "./RunReport.ts"

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
  kind: RunKind,
  accounts: { readonly lost: number | null; readonly broken: number }
): Totals => {
  const { states } = measured
  const { engine, receivers } = knowledge[kind]
  const late = measured.lateStart
  const { accepted, failed, planned, unanswered } = measured.summary
  return {
    planned,
    accepted,
    failed,
    unanswered,
    deliveries: measured.deliveries,
    delivered: states.delivered,
    exhausted: states.exhausted,
    expired: states.expired,
    cancelled: states.cancelled,
    skipped: states.skipped,
    open: measured.open + activeStates.reduce((sum, state) => sum + states[state], 0),
    unfollowed: measured.unfollowed,
    lost: accounts.lost,
    attempts: measured.attempts,
    duplicates: receivers ? measured.duplicates : null,
    backlog: engine ? measured.mostOpen : null,
    backlog_at: engine ? measured.mostOpenAt : null,
    most_in_flight: engine ? measured.mostInFlight : null,
    rate: late.count > 0 ? late.shareUpTo(1_000) : null,
    repeated: measured.repeated,
    reordered: measured.reordered,
    delayed: measured.delayed,
    broken: engine ? accounts.broken : null
  }
}

const quantileOf = (histogram: Histogram, share: number): number | null =>
  histogram.count === 0 ? null : histogram.quantile(share)

const seriesOf = ({ series }: Measurements, { engine, receivers }: Knowledge): ReadonlyArray<SeriesLine> =>
  series.intervals.map(({ acknowledged, answer, attempts, backlog, duplicates, planned, sent }, at) => ({
    at: at * series.width,
    planned,
    sent,
    attempts: engine ? attempts : null,
    acknowledged: engine ? acknowledged : null,
    duplicates: receivers ? duplicates : null,
    backlog: engine ? backlog : null,
    answer_p50: quantileOf(answer, 0.5),
    answer_p99: quantileOf(answer, 0.99)
  }))

const outageOf = (outage: Outage): OutageLine => ({
  most_open: outage.mostOpen,
  most_open_at: outage.mostOpenAt,
  delivered_at: outage.deliveredAt,
  empty_at: outage.emptyAt,
  exhausted: outage.exhausted,
  cancelled: outage.cancelled
})

const integrationLine = (id: number, totals: IntegrationTotals, { engine, receivers }: Knowledge): IntegrationLine => ({
  id,
  name: totals.name,
  receiver: totals.receiver.text,
  down: totals.receiver.down,
  deliveries: totals.deliveries,
  states: totals.states,
  attempts: totals.attempts,
  duplicates: receivers ? totals.duplicates : null,
  most_open: engine ? totals.mostOpen : null,
  most_open_at: engine ? totals.mostOpenAt : null,
  empty_at: totals.emptyAt,
  outage: totals.outage === null ? null : outageOf(totals.outage),
  ack_p50: quantileOf(totals.ack, 0.5),
  ack_p99: quantileOf(totals.ack, 0.99)
})

/** What measurements say, as the report holds it. */
export const measuredParts = (measured: Measurements, kind: RunKind) => ({
  latency: {
    ack: quantilesOf(measured.ack),
    answer: quantilesOf(measured.answer),
    delivery: quantilesOf(measured.delivery),
    intended: quantilesOf(measured.intended),
    service: quantilesOf(measured.service),
    late_start: quantilesOf(measured.lateStart)
  },
  interval: measured.series.width,
  series: seriesOf(measured, knowledge[kind]),
  week: measured.week,
  attempts_per_delivery: measured.attemptsPerDelivery,
  outcomes: Object.fromEntries(measured.outcomes),
  statuses: Object.fromEntries(measured.statuses),
  integration_lines: [...measured.integrations].map(([id, line]) => integrationLine(id, line, knowledge[kind]))
})
