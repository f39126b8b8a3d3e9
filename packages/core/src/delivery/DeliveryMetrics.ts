/**
 * What is counted about deliveries: the names under which Prometheus and OTLP see it.
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
 * Makes the counters of one name. Each set of attributes has a metric of its own: of one that they share, the series would
 * be looked for anew whenever another is updated.
 */
const counters = (id: string, description: string) => (attributes: Metric.Metric.AttributeSet) =>
  Metric.counter(id, { description, attributes, incremental: true })

/** One value for each resource type that was seen; a type that is stored but not declared any more counts as well. */
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
  "Events accepted: durable, whether or not an integration matched"
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

/** Attempts made before they were due, because their integration catches up, by resource type and outcome. */
const earlyAttempts = new ByType(
  (resource_type) => new Map(AttemptOutcome.literals.map((outcome) => [outcome, early({ resource_type, outcome })]))
)

const ended = counters(
  "doorhook_deliveries_ended_total",
  "Deliveries that this process ended with an attempt or in place of one, by state. doorhook_deliveries counts all, also those that a change of their integration cancelled and those that were skipped"
)

/** Deliveries that ended, by resource type and state: no notification reports those that expired. None is skipped here. */
const deliveriesEnded = new ByType(
  (resource_type) =>
    new Map(
      settledStates.filter((state) => state !== "skipped").map((state) => [state, ended({ resource_type, state })])
    )
)

/** Outcomes of deliveries that were no longer leased to this worker. */
export const staleSettlements = Metric.counter("doorhook_stale_settlements_total", {
  description: "Outcomes that came after the delivery's lease had ended; the delivery is sent again",
  incremental: true
})

/** Notifications for operators, by kind. */
export const notificationsCounted = Metric.counter("doorhook_notifications_total", {
  description:
    "Operational notifications: integrations that fail, were disabled or recovered, deliveries given up, retention paused",
  incremental: true
})

/** Upper bounds of the latency buckets, in seconds: Prometheus' unit. */
const latencyBounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5] as const

/** How long acknowledged attempts took, in seconds. */
export const acknowledgementLatency = Metric.histogram("doorhook_acknowledgement_latency_seconds", {
  description: "Seconds from the start of an attempt to its acknowledgement",
  boundaries: latencyBounds
})

/** What an attempt was made of, and the attempt; null when none was made. */
interface Attempted {
  readonly delivery: { readonly event: Pick<Event, "resource_type">; readonly early_due_at: number | null }
  readonly settlement: { readonly attempt: Attempt | null; readonly state: Settlement["state"] }
}

interface Counter {
  /** Counts the attempts among some outcomes: they were made, whatever becomes of them. */
  readonly attempted: (outcomes: ReadonlyArray<Attempted>) => void
  /** Counts the deliveries that some outcomes have ended: of those that were recorded. */
  readonly ended: (recorded: ReadonlyArray<Attempted>) => void
}

/** Has the series of every resource type be there from the start, at 0: a rate needs what was before the first. */
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

/** Makes what counts outcomes: plain code, called for each batch of them. */
export const makeCounter = Effect.contextWith((context: Context.Context<never>) => {
  beginCounting(Context.get(context, ResourceTypes).keys(), context)
  return Effect.succeed<Counter>({
    attempted: (outcomes) => {
      for (const { delivery, settlement } of outcomes) {
        const { attempt } = settlement
        if (attempt === null) continue
        const { early_due_at, event } = delivery
        attemptsMade.of(event.resource_type).get(attempt.outcome)?.updateUnsafe(1, context)
        if (early_due_at !== null) earlyAttempts.of(event.resource_type).get(attempt.outcome)?.updateUnsafe(1, context)
        if (attempt.outcome === "acknowledged")
          acknowledgementLatency.updateUnsafe(attempt.duration_ms / 1_000, context)
      }
    },
    ended: (recorded) => {
      for (const { delivery, settlement } of recorded) {
        const { state } = settlement
        if (state !== "retrying") deliveriesEnded.of(delivery.event.resource_type).get(state)?.updateUnsafe(1, context)
      }
    }
  })
})

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
        return 1_000 * Math.min(max, Math.max(min, value))
      }
      lower = upper
      below = cumulative
    }
    return 1_000 * max
  })
