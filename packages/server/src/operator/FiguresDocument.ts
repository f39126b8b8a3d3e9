/**
 * What an operator watches, in numbers.
 */
import type { Counted, DeliverySummary } from "@doorhook/core"
import { AttemptOutcome, deliveryStates, isoOf, breakerCauses } from "@doorhook/core"
import { Schema } from "effect"
import type { Impediment, Pulse } from "../health/Pulse.ts"
import { waitOf } from "../health/Pulse.ts"

const Count = Schema.Finite

export const FiguresDocument = Schema.Struct({
  /** When they were taken, ISO 8601 UTC, as all times. */
  at: Schema.String,
  /** As `/health/ready` says it. */
  status: Schema.String,
  /** What is wrong, for people; null when nothing is. */
  detail: Schema.NullOr(Schema.String),
  /** What is in the database, from all processes; null while it does not answer. */
  database: Schema.NullOr(
    Schema.Struct({
      events: Count,
      deliveries: Schema.Record(Schema.Literals(deliveryStates), Count),
      oldest_due_at: Schema.NullOr(Schema.String)
    })
  ),
  /** What the process that answers does and has counted since its start: take the difference of two answers. */
  process: Schema.Struct({
    events_accepted: Count,
    /** By outcome; outcomes that did not happen are left out. */
    attempts: Schema.Record(AttemptOutcome, Schema.optionalKey(Count)),
    acknowledgement_latency: Schema.Struct({
      count: Count,
      /** How many took at most `le_ms` milliseconds, those of the buckets before included. */
      buckets: Schema.Array(Schema.Struct({ le_ms: Count, count: Count }))
    }),
    delivering: Count,
    buffered: Count,
    unsettled: Count,
    last_claim_at: Schema.NullOr(Schema.String),
    /** Integrations whose waiting retries it sends early, because they acknowledge again. */
    catching_up: Schema.Array(Schema.Struct({ integration_id: Schema.String, since: Schema.String })),
    /** What all its deliveries wait for, as `/health/ready` says it; null when for nothing. */
    deliveries_wait: Schema.NullOr(
      Schema.Struct({ cause: Schema.Literals(breakerCauses), since: Schema.String, detail: Schema.String })
    )
  })
})
export type FiguresDocument = typeof FiguresDocument.Type

export const figuresDocument = (
  pulse: Pulse,
  impediment: Impediment | null,
  summary: DeliverySummary | null,
  { attempts, events_accepted, latency }: Counted
): FiguresDocument => ({
  at: isoOf(pulse.now),
  status: impediment?.status ?? "ready",
  detail: impediment?.detail ?? null,
  database:
    summary === null
      ? null
      : {
          events: summary.events,
          deliveries: summary.states,
          oldest_due_at: summary.oldest_due_at === null ? null : isoOf(summary.oldest_due_at)
        },
  process: {
    events_accepted,
    attempts,
    acknowledgement_latency: {
      count: latency.count,
      buckets: latency.buckets.filter(([upper]) => Number.isFinite(upper)).map(([le_ms, count]) => ({ le_ms, count }))
    },
    delivering: pulse.delivering,
    buffered: pulse.buffered,
    unsettled: pulse.unsettled,
    last_claim_at: pulse.last_claim_at === null ? null : isoOf(pulse.last_claim_at),
    catching_up: pulse.catching_up.map(({ integration_id, since }) => ({
      integration_id: String(integration_id),
      since: isoOf(since)
    })),
    deliveries_wait: waitOf(pulse)
  }
})
