/**
 * A delivery: one event on its way to one integration, and the attempts made.
 *
 * ```
 * pending ──► delivering ──► delivered
 *                ▲  │ ├──► exhausted   the schedule is used up
 *                │  ▼ └──► expired     the event's lifetime is over
 *             retrying
 * any of pending, delivering, retrying ──► cancelled   integration disabled, deleted or gone, or the right to see it lost
 * skipped   stored because the integration was disabled when the event came
 * any settled one ──► pending   by a resend; as a probe if it was not acknowledged: acknowledged then, it enables the integration
 * ```
 *
 * `docs/architecture.md` draws all of it; where a delivery stands after anything is `delivery/Transitions.ts`.
 */
import { Schema } from "effect"
import type { Event } from "./Event.ts"
import { DeliveryId, EventId, IntegrationId } from "./Ids.ts"
import type { Integration } from "./Integration.ts"
import type { ResourceTypeDefinition } from "./ResourceType.ts"

/** States in which a delivery will still be attempted. */
export const activeStates = ["pending", "delivering", "retrying"] as const

/** States in which nothing more happens unless somebody asks for a resend. */
export const settledStates = ["delivered", "exhausted", "expired", "cancelled", "skipped"] as const

export const deliveryStates = [...activeStates, ...settledStates] as const
export const DeliveryState = Schema.Literals(deliveryStates)
export type DeliveryState = typeof DeliveryState.Type

/** No delivery in any state: where counts begin. */
export const noDeliveries: Readonly<Record<DeliveryState, number>> = {
  pending: 0,
  delivering: 0,
  retrying: 0,
  delivered: 0,
  exhausted: 0,
  expired: 0,
  cancelled: 0,
  skipped: 0
}

/** Why a delivery ended, or was never begun, without being acknowledged. */
export const DeliveryReason = Schema.Literals([
  "integration_disabled",
  "integration_deleted",
  "integration_gone",
  "integration_unreadable",
  "right_lost",
  "schedule_used_up",
  "lifetime_over"
])
export type DeliveryReason = typeof DeliveryReason.Type

/** How one attempt ended. */
export const AttemptOutcome = Schema.Literals([
  "acknowledged",
  "bad_status",
  "timeout",
  "connection_refused",
  "connection_reset",
  "dns",
  "tls",
  "blocked_address",
  "invalid_response"
])
export type AttemptOutcome = typeof AttemptOutcome.Type

/** The most of an answer that is kept, in characters. */
export const maxExcerptLength = 16 * 1024

/** One HTTP request that was made, or refused by the address guard. */
export const Attempt = Schema.Struct({
  /** 1 for the first; the `doorhook-attempt` header. */
  number: Schema.Int,
  started_at: Schema.Int,
  duration_ms: Schema.Int,
  outcome: AttemptOutcome,
  /** The HTTP status, null when no answer came. */
  status: Schema.NullOr(Schema.Int),
  /** The first part of the answer's body, null when there was none. */
  response_excerpt: Schema.NullOr(Schema.String),
  /** What went wrong in words, null when nothing did. */
  detail: Schema.NullOr(Schema.String)
})
export type Attempt = typeof Attempt.Type

export const Delivery = Schema.Struct({
  id: DeliveryId,
  event_id: EventId,
  integration_id: IntegrationId,
  state: DeliveryState,
  reason: Schema.NullOr(DeliveryReason),
  /** How many attempts were made. */
  attempts: Schema.Int,
  /** When the next attempt is due, in milliseconds since the epoch; null in settled states and while one is under way. */
  next_attempt_at: Schema.NullOr(Schema.Int),
  created_at: Schema.Int
})
export type Delivery = typeof Delivery.Type

/**
 * The queue inside an integration that a delivery waits in. Lower goes first: urgent types before others, first
 * attempts before retries, so that neither a backlog nor a failing receiver holds up a ring.
 */
export const Lane = Schema.Literals([0, 1, 2, 3])
export type Lane = typeof Lane.Type

/** All lanes, most urgent first. */
export const lanes = [0, 1, 2, 3] as const satisfies ReadonlyArray<Lane>

/** Whether a lane holds retries. */
export const isRetryLane = (lane: Lane): boolean => lane === 1 || lane === 3

/** Whether a lane holds what can't wait. */
export const isUrgentLane = (lane: Lane): boolean => lane <= 1

/** How many of some places a lane may use: all when it is urgent, four fifths otherwise, one at least. */
export const placesFor = (lane: Lane, places: number): number =>
  isUrgentLane(lane) ? places : Math.max(1, Math.floor(places * 0.8))

/** The lane of a delivery after this many attempts. */
export const laneOf = ({ urgent }: Pick<ResourceTypeDefinition, "urgent">, attempts: number): Lane => {
  if (urgent) return attempts === 0 ? 0 : 1
  return attempts === 0 ? 2 : 3
}

/** A delivery that is leased to a worker, with everything an attempt needs. */
export interface LeasedDelivery {
  readonly id: DeliveryId
  readonly lane: Lane
  /** Attempts made before this one. */
  readonly attempts: number
  /** How many of them were made early and failed: they do not count in the schedule. */
  readonly early: number
  /** When it would be due by its schedule, in milliseconds since the epoch, if it is sent early; null otherwise. */
  readonly early_due_at: number | null
  /** Whether somebody asked for this attempt: it is made even when the event's lifetime is over. */
  readonly resend: boolean
  readonly event: Event
  readonly integration: Integration
}
