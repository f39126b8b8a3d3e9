/**
 * The operation that reads readiness, counts and latencies. It is cheap enough to call every second.
 */
import { AttemptOutcome, breakerCauses, DeliveryMetrics, isoOf } from "@doorhook/core"
import type { Counted, DeliveryStore, DeliverySummary, Dispatcher } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { HealthSettings } from "../health/HealthSettings.ts"
import { readinessOf } from "../health/HealthCauses.ts"
import type { Readiness } from "../health/HealthCauses.ts"
import type { HealthStatus, StoreProbe } from "../health/HealthStatus.ts"
import { checkHealth, outageDetail, readSummary } from "../health/HealthStatus.ts"
import { deliveryCounts, DeliveryCountsDocument } from "./DeliveryOperations.ts"
import { handler, operation } from "./Operation.ts"

const Count = Schema.Finite

export const StatsDocument = Schema.Struct({
  /** When the figures were measured. All times are ISO 8601 UTC. */
  at: Schema.String,
  /** The status in `/health/ready`. */
  status: Schema.String,
  /** Description of the problem; null if the service is ready. */
  detail: Schema.NullOr(Schema.String),
  /** The contents of the database, which all processes share; null while the database does not answer. */
  database: Schema.NullOr(DeliveryCountsDocument),
  /** The answering process, with its counts since it started. For rates, use the difference between two answers. */
  process: Schema.Struct({
    events_accepted: Count,
    /** Number of attempts by outcome, without the outcomes that have not occurred. */
    attempts: Schema.Record(AttemptOutcome, Schema.optionalKey(Count)),
    acknowledgement_latency: Schema.Struct({
      count: Count,
      /** Cumulative counts: `count` acknowledged attempts took at most `le_ms` milliseconds. */
      buckets: Schema.Array(Schema.Struct({ le_ms: Count, count: Count }))
    }),
    delivering: Count,
    buffered: Count,
    unsettled: Count,
    last_claim_at: Schema.NullOr(Schema.String),
    /** Integrations whose waiting retries this process is sending early, after their receiver recovered. */
    catching_up: Schema.Array(Schema.Struct({ integration_id: Schema.String, since: Schema.String })),
    /** The outage because of which all deliveries of the process wait, as in `/health/ready`; null if there is none. */
    outage: Schema.NullOr(
      Schema.Struct({ cause: Schema.Literals(breakerCauses), since: Schema.String, detail: Schema.String })
    )
  })
})
export type StatsDocument = typeof StatsDocument.Type

export const statsOperations = {
  read: operation("stats.read", "GET", "/operator/stats", StatsDocument)
}

const documentOf = (
  health: HealthStatus,
  { detail, status }: Readiness,
  summary: DeliverySummary | null,
  { attempts, events_accepted, latency }: Counted
): StatsDocument => ({
  at: isoOf(health.now),
  status,
  detail,
  database: summary === null ? null : deliveryCounts(summary),
  process: {
    events_accepted,
    attempts,
    acknowledgement_latency: {
      count: latency.count,
      buckets: latency.buckets.filter(([upper]) => Number.isFinite(upper)).map(([le_ms, count]) => ({ le_ms, count }))
    },
    delivering: health.delivering,
    buffered: health.buffered,
    unsettled: health.unsettled,
    last_claim_at: health.last_claim_at === null ? null : isoOf(health.last_claim_at),
    catching_up: health.catching_up.map(({ integration_id, since }) => ({
      integration_id: String(integration_id),
      since: isoOf(since)
    })),
    outage: outageDetail(health)
  }
})

export const makeStatsHandlers = Effect.gen(function* () {
  const settings = yield* HealthSettings
  const services = yield* Effect.context<DeliveryStore | Dispatcher | StoreProbe>()

  const read = handler(statsOperations.read, () =>
    Effect.gen(function* () {
      const health = yield* Effect.provideContext(checkHealth(settings), services)
      const summary = yield* Effect.provideContext(readSummary(health, settings), services)
      return documentOf(health, readinessOf(health, settings), summary, yield* DeliveryMetrics.counted)
    })
  )

  return [read]
})
