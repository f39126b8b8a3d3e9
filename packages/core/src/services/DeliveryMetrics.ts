/**
 * What is counted about deliveries: the names under which Prometheus and OTLP see it.
 */
import { Effect, Metric } from "effect"
import type { Context } from "effect"
import { AttemptOutcome } from "../domain/Delivery.ts"
import type { Attempt } from "../domain/Delivery.ts"
import type { Event } from "../domain/Event.ts"
import { resourceTypeNames } from "../domain/ResourceType.ts"

/** Events accepted, by resource type. */
export const eventsAccepted = Metric.counter("doorhook_events_accepted", {
  description: "Events accepted: durable, whether or not an integration matched",
  incremental: true
})

/** Attempts made, by resource type and outcome. */
export const attemptsMade = Metric.counter("doorhook_attempts", {
  description: "HTTP requests made to receivers, by outcome",
  incremental: true
})

/** Settlements of deliveries whose lease had passed to somebody else. */
export const staleSettlements = Metric.counter("doorhook_stale_settlements", {
  description: "Outcomes that came after the delivery's lease had ended; the delivery is sent again",
  incremental: true
})

/** What those who run the service were told, by kind. */
export const noticesGiven = Metric.counter("doorhook_notices", {
  description: "Operational notices: integrations that fail, were disabled or recovered, deliveries given up",
  incremental: true
})

/** Upper bounds of the latency buckets, in milliseconds. */
export const latencyBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000] as const

/** How long acknowledged attempts took, in milliseconds. */
export const acknowledgementLatency = Metric.histogram("doorhook_acknowledgement_latency_ms", {
  description: "Milliseconds from the start of an attempt to its acknowledgement",
  boundaries: latencyBounds
})

// Tagged once, not at each update: the hot path allocates no attributes.
const attemptCounters = new Map(
  resourceTypeNames.map((type) => [
    type,
    new Map(
      AttemptOutcome.literals.map((outcome) => [
        outcome,
        Metric.withAttributes(attemptsMade, { resource_type: type, outcome })
      ])
    )
  ])
)

/** What an attempt was made of, and the attempt; null when none was made. */
interface Attempted {
  readonly delivery: { readonly event: Pick<Event, "resource_type"> }
  readonly settlement: { readonly attempt: Attempt | null }
}

/** Counts the attempts among some outcomes: many at once, because each update alone would be a step of its own. */
export const countAttempts = (outcomes: ReadonlyArray<Attempted>): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      for (const { delivery, settlement } of outcomes) {
        const { attempt } = settlement
        if (attempt === null) continue
        attemptCounters.get(delivery.event.resource_type)?.get(attempt.outcome)?.updateUnsafe(1, context)
        if (attempt.outcome === "acknowledged") acknowledgementLatency.updateUnsafe(attempt.duration_ms, context)
      }
    })
  )

/**
 * How long, in milliseconds, the given share of acknowledged attempts took at most: interpolated within the bucket it
 * falls into, null before the first.
 */
export const latencyQuantile = (share: number): Effect.Effect<number | null> =>
  Effect.map(Metric.value(acknowledgementLatency), ({ buckets, count, max, min }) => {
    if (count === 0) return null
    const rank = share * count
    let lower = 0
    let below = 0
    for (const [upper, cumulative] of buckets) {
      if (cumulative >= rank && cumulative > below) {
        const value = lower + ((upper - lower) * (rank - below)) / (cumulative - below)
        return Math.min(max, Math.max(min, value))
      }
      lower = upper
      below = cumulative
    }
    return max
  })
