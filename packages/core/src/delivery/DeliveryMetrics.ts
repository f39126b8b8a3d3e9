/**
 * Metrics of deliveries, exported to Prometheus and OTLP.
 */
import { Context, Effect, Metric } from "effect"
import { AttemptOutcome, settledStates } from "../model/Delivery.ts"
import type { Attempt } from "../model/Delivery.ts"
import type { Event } from "../model/Event.ts"
import { notificationKinds } from "../model/Notification.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import { ResourceTypes } from "../model/ResourceType.ts"
import type { Settlement } from "../ports/DeliveryStore.ts"

/**
 * Makes counters with the same name. Each attribute set gets its own metric object. With a shared object, every update
 * would look up the series again.
 */
const counters = (id: string, description: string) => (attributes: Metric.Metric.AttributeSet) =>
  Metric.counter(id, { description, attributes, incremental: true })

/** One value for each resource type seen so far, including stored types that are no longer declared. */
class ByType<A> {
  readonly #seen = new Map<ResourceType, A>()
  readonly #make: (resource_type: ResourceType) => A

  constructor(make: (resource_type: ResourceType) => A) {
    this.#make = make
  }

  of(type: ResourceType): A {
    const seen = this.#seen.get(type)
    if (seen !== undefined) return seen
    const made = this.#make(type)
    this.#seen.set(type, made)
    return made
  }

  all(): Iterable<A> {
    return this.#seen.values()
  }
}

const accepted = counters(
  "doorhook_events_accepted_total",
  "Events stored durably, whether or not an integration matched"
)

const eventsAccepted = new ByType((resource_type) => accepted({ resource_type }))

/** Counts accepted events by resource type. */
export const countAccepted = (
  events: ReadonlyArray<Pick<Event, "resource_type">>,
  context: Context.Context<never>
): void => {
  const counts = new Map<ResourceType, number>()
  for (const { resource_type } of events) counts.set(resource_type, (counts.get(resource_type) ?? 0) + 1)
  for (const [type, count] of counts) eventsAccepted.of(type).updateUnsafe(count, context)
}

const attempts = counters("doorhook_attempts_total", "HTTP requests made to receivers, by outcome")

/** Attempts made, by resource type and outcome. */
const attemptsMade = new ByType(
  (resource_type) => new Map(AttemptOutcome.literals.map((outcome) => [outcome, attempts({ resource_type, outcome })]))
)

const early = counters(
  "doorhook_early_attempts_total",
  "Attempts made early after an outage of their receiver, by outcome"
)

/** Attempts made before their due time because the integration catches up, by resource type and outcome. */
const earlyAttempts = new ByType(
  (resource_type) => new Map(AttemptOutcome.literals.map((outcome) => [outcome, early({ resource_type, outcome })]))
)

const ended = counters(
  "doorhook_deliveries_ended_total",
  "Deliveries that ended in this process, after an attempt or when one was due, by state. doorhook_deliveries also counts skipped deliveries and those cancelled by a change to their integration"
)

/** Deliveries that ended, by resource type and state. Skipped deliveries are not counted here. */
const deliveriesEnded = new ByType(
  (resource_type) =>
    new Map(
      settledStates.filter((state) => state !== "skipped").map((state) => [state, ended({ resource_type, state })])
    )
)

/** Outcomes of deliveries whose lease had already ended. */
export const staleSettlements = Metric.counter("doorhook_stale_settlements_total", {
  description: "Outcomes recorded after the delivery's lease had ended; the delivery is sent again",
  incremental: true
})

/** Notifications for operators, by kind. */
export const notificationsCounted = Metric.counter("doorhook_notifications_total", {
  description:
    "Notifications to operators, by kind: integrations failing, disabled or recovered, deliveries exhausted, retention paused",
  incremental: true
})

/** Upper bounds of the latency buckets, in seconds. */
const latencyBounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5] as const

/** Duration of acknowledged attempts, in seconds. */
export const acknowledgementLatency = Metric.histogram("doorhook_acknowledgement_latency_seconds", {
  description: "Seconds from the start of an attempt to its acknowledgement",
  boundaries: latencyBounds
})

/** A delivery and its attempt, which is null if none was made. */
interface Attempted {
  readonly delivery: { readonly event: Pick<Event, "resource_type">; readonly early_due_at: number | null }
  readonly settlement: { readonly attempt: Attempt | null; readonly state: Settlement["state"] }
}

export interface Counter {
  /** Counts the attempt of an outcome, even if the store never records it. */
  readonly attempted: (outcome: Attempted) => void
  /** Counts the deliveries that ended, given the outcomes that were recorded. */
  readonly ended: (recorded: ReadonlyArray<Attempted>) => void
}

/** Creates the series of every resource type with the value 0: a rate needs a value before the first increment. */
const beginCounting = (types: Iterable<ResourceType>, context: Context.Context<never>): void => {
  for (const type of types) {
    eventsAccepted.of(type).updateUnsafe(0, context)
    for (const byOutcome of [attemptsMade, earlyAttempts, deliveriesEnded]) {
      for (const counter of byOutcome.of(type).values()) counter.updateUnsafe(0, context)
    }
  }
  for (const kind of notificationKinds) Metric.withAttributes(notificationsCounted, { kind }).updateUnsafe(0, context)
  staleSettlements.updateUnsafe(0, context)
  acknowledgementLatency.valueUnsafe(context)
}

/** Makes the counter of outcomes. Its functions are synchronous. */
export const makeCounter = Effect.contextWith((context: Context.Context<never>) => {
  beginCounting(Context.get(context, ResourceTypes).keys(), context)
  return Effect.succeed<Counter>({
    attempted: ({ delivery: { early_due_at, event }, settlement: { attempt } }) => {
      if (attempt === null) return
      attemptsMade.of(event.resource_type).get(attempt.outcome)?.updateUnsafe(1, context)
      if (early_due_at !== null) earlyAttempts.of(event.resource_type).get(attempt.outcome)?.updateUnsafe(1, context)
      if (attempt.outcome === "acknowledged") acknowledgementLatency.updateUnsafe(attempt.duration_ms / 1_000, context)
    },
    ended: (recorded) => {
      for (const { delivery, settlement } of recorded) {
        const { state } = settlement
        if (state !== "retrying") deliveriesEnded.of(delivery.event.resource_type).get(state)?.updateUnsafe(1, context)
      }
    }
  })
})

/** Counts of this process since its start. */
export interface Counted {
  readonly events_accepted: number
  /** By outcome. Contains only outcomes that have occurred. */
  readonly attempts: Readonly<Partial<Record<AttemptOutcome, number>>>
  /**
   * Histogram of the latencies of acknowledged attempts. `buckets` has pairs: an upper bound in milliseconds, and the
   * number of latencies up to it.
   */
  readonly latency: { readonly count: number; readonly buckets: ReadonlyArray<readonly [number, number]> }
}

/** Returns the counts so far. Callers can compare them with an earlier result. */
export const counted: Effect.Effect<Counted> = Effect.gen(function* () {
  let events_accepted = 0
  for (const counter of eventsAccepted.all()) events_accepted += (yield* Metric.value(counter)).count
  const attempts: Partial<Record<AttemptOutcome, number>> = {}
  for (const byOutcome of attemptsMade.all()) {
    for (const [outcome, counter] of byOutcome) {
      const { count } = yield* Metric.value(counter)
      if (count > 0) attempts[outcome] = (attempts[outcome] ?? 0) + count
    }
  }
  const { buckets, count } = yield* Metric.value(acknowledgementLatency)
  const inMillis = buckets.map(([upper, cumulative]) => [Math.round(upper * 1_000), cumulative] as const)
  return { events_accepted, attempts, latency: { count, buckets: inMillis } }
})

/**
 * Returns the latency of acknowledged attempts at the quantile `share`, in milliseconds, interpolated within its
 * bucket. Null before the first acknowledgement.
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
        return 1_000 * Math.min(max, Math.max(min, value))
      }
      lower = upper
      below = cumulative
    }
    return 1_000 * max
  })
