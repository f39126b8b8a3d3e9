/**
 * What is counted about deliveries: the names under which Prometheus and OTLP see it.
 */
import { Effect, Metric } from "effect"
import type { Context } from "effect"
import { AttemptOutcome, settledStates } from "../domain/Delivery.ts"
import type { Attempt } from "../domain/Delivery.ts"
import type { Event } from "../domain/Event.ts"
import type { ResourceType } from "../domain/ResourceType.ts"
import { resourceTypeNames } from "../domain/ResourceType.ts"
import type { Settlement } from "../ports/DeliveryStore.ts"

/**
 * Makes the counters of one name. Each set of attributes has a metric of its own: of one that they share, the series would
 * be looked for anew whenever another is updated.
 */
const counters = (id: string, description: string) => (attributes: Metric.Metric.AttributeSet) =>
  Metric.counter(id, { description, attributes, incremental: true })

const byType = <A>(make: (resource_type: ResourceType) => A): ReadonlyMap<ResourceType, A> =>
  new Map(resourceTypeNames.map((type) => [type, make(type)]))

const accepted = counters("doorhook_events_accepted", "Events accepted: durable, whether or not an integration matched")

/** Events accepted, by resource type. */
export const eventsAccepted = byType((resource_type) => accepted({ resource_type }))

const attempts = counters("doorhook_attempts", "HTTP requests made to receivers, by outcome")

/** Attempts made, by resource type and outcome. */
const attemptsMade = byType(
  (resource_type) => new Map(AttemptOutcome.literals.map((outcome) => [outcome, attempts({ resource_type, outcome })]))
)

const ended = counters("doorhook_deliveries_ended", "Deliveries that ended in this process, by the state they ended in")

/** Deliveries that ended, by resource type and state: those that expired are told by no notice. */
const deliveriesEnded = byType(
  (resource_type) => new Map(settledStates.map((state) => [state, ended({ resource_type, state })]))
)

/** Settlements of deliveries whose lease had passed to somebody else. */
export const staleSettlements = Metric.counter("doorhook_stale_settlements", {
  description: "Outcomes that came after the delivery's lease had ended; the delivery is sent again",
  incremental: true
})

/** What those who run the service were told, by kind. */
export const noticesGiven = Metric.counter("doorhook_notices", {
  description:
    "Operational notices: integrations that fail, were disabled or recovered, deliveries given up, retention paused",
  incremental: true
})

/** Upper bounds of the latency buckets, in milliseconds. */
export const latencyBounds = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000] as const

/** How long acknowledged attempts took, in milliseconds. */
export const acknowledgementLatency = Metric.histogram("doorhook_acknowledgement_latency_ms", {
  description: "Milliseconds from the start of an attempt to its acknowledgement",
  boundaries: latencyBounds
})

/** What an attempt was made of, and the attempt; null when none was made. */
interface Attempted {
  readonly delivery: { readonly event: Pick<Event, "resource_type"> }
  readonly settlement: { readonly attempt: Attempt | null; readonly state: Settlement["state"] }
}

interface Counter {
  /** Counts the attempts among some outcomes: they were made, whatever becomes of them. */
  readonly attempted: (outcomes: ReadonlyArray<Attempted>) => void
  /** Counts the deliveries that some outcomes have ended: of those that were recorded. */
  readonly ended: (recorded: ReadonlyArray<Attempted>) => void
}

/** Makes what counts outcomes: plain code, called for each batch of them. */
export const makeCounter = Effect.contextWith((context: Context.Context<never>) =>
  Effect.succeed<Counter>({
    attempted: (outcomes) => {
      for (const { delivery, settlement } of outcomes) {
        const { attempt } = settlement
        if (attempt === null) continue
        attemptsMade.get(delivery.event.resource_type)?.get(attempt.outcome)?.updateUnsafe(1, context)
        if (attempt.outcome === "acknowledged") acknowledgementLatency.updateUnsafe(attempt.duration_ms, context)
      }
    },
    ended: (recorded) => {
      for (const { delivery, settlement } of recorded) {
        const { state } = settlement
        if (state !== "retrying")
          deliveriesEnded.get(delivery.event.resource_type)?.get(state)?.updateUnsafe(1, context)
      }
    }
  })
)

/** What this process has counted since it started. */
export interface Counted {
  readonly events_accepted: number
  /** By outcome; outcomes that did not happen are left out. */
  readonly attempts: Readonly<Partial<Record<AttemptOutcome, number>>>
  /** Acknowledged attempts that took at most so many milliseconds, bucket by bucket, and how many there are in all. */
  readonly latency: { readonly count: number; readonly buckets: ReadonlyArray<readonly [number, number]> }
}

/** The counts so far, for who compares them with those of a moment ago. */
export const counted: Effect.Effect<Counted> = Effect.gen(function* () {
  let events_accepted = 0
  for (const counter of eventsAccepted.values()) events_accepted += (yield* Metric.value(counter)).count
  const attempts: Partial<Record<AttemptOutcome, number>> = {}
  for (const byOutcome of attemptsMade.values()) {
    for (const [outcome, counter] of byOutcome) {
      const { count } = yield* Metric.value(counter)
      if (count > 0) attempts[outcome] = (attempts[outcome] ?? 0) + count
    }
  }
  const { buckets, count } = yield* Metric.value(acknowledgementLatency)
  return { events_accepted, attempts, latency: { count, buckets } }
})

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
