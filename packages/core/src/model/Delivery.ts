/**
 * A delivery of one event to one integration, with its attempts.
 *
 * ```
 * pending ──► delivering ──► delivered
 *                ▲  │ ├──► exhausted   the schedule is used up
 *                │  ▼ └──► expired     the event's lifetime is over
 *             retrying
 * any of pending, delivering, retrying ──► cancelled   integration disabled, deleted or gone, its owner's right lost,
 *                                                     or the call has ended
 * skipped   stored because the integration was disabled when the event was published
 * any settled state ──► pending   by a resend, or by a probe of a disabled integration (an acknowledgement enables it)
 * ```
 *
 * `delivery/Transitions.ts` defines each transition.
 */
import { Schema } from "effect"
import type { Event } from "./Event.ts"
import { DeliveryId, EventId, IntegrationId } from "./Ids.ts"
import type { Integration } from "./Integration.ts"
import type { ResourceTypeDefinition } from "./ResourceType.ts"

/** States of deliveries that will still be attempted. */
export const activeStates = ["pending", "delivering", "retrying"] as const

/** States of deliveries that are attempted again only after a resend. */
export const settledStates = ["delivered", "exhausted", "expired", "cancelled", "skipped"] as const

export const deliveryStates = [...activeStates, ...settledStates] as const
export const DeliveryState = Schema.Literals(deliveryStates)
export type DeliveryState = typeof DeliveryState.Type

/** Initial counts: zero deliveries in each state. */
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

/** Why a delivery ended or was skipped without an acknowledgement. */
export const DeliveryReason = Schema.Literals([
  "integration_disabled",
  "integration_deleted",
  "integration_gone",
  "row_unreadable",
  "right_lost",
  "call_ended",
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

/** Maximum length of the stored beginning of an answer's body, in characters. */
export const maxExcerptLength = 16 * 1024

/** One HTTP request, sent or refused by the address guard. */
export const Attempt = Schema.Struct({
  /** 1 for the first attempt. Sent as the `doorhook-attempt` header. */
  number: Schema.Int,
  started_at: Schema.Int,
  duration_ms: Schema.Int,
  outcome: AttemptOutcome,
  /** The HTTP status; null without an answer. */
  status: Schema.NullOr(Schema.Int),
  /** The beginning of the answer's body; null without a body. */
  response_excerpt: Schema.NullOr(Schema.String),
  /** The failure in words; null without a failure. */
  detail: Schema.NullOr(Schema.String)
})
export type Attempt = typeof Attempt.Type

export const Delivery = Schema.Struct({
  id: DeliveryId,
  event_id: EventId,
  integration_id: IntegrationId,
  state: DeliveryState,
  reason: Schema.NullOr(DeliveryReason),
  /** Number of attempts made. */
  attempts: Schema.Int,
  /** When the next attempt is due, in milliseconds since the epoch; null in settled states and during an attempt. */
  next_attempt_at: Schema.NullOr(Schema.Int),
  created_at: Schema.Int
})
export type Delivery = typeof Delivery.Type

/**
 * The priority queue that a delivery waits in. Each integration has four lanes, and lower numbers go first: urgent
 * types before others, and first attempts before retries of the same urgency. A backlog or a failing receiver therefore
 * can't delay a doorbell.
 */
export const Lane = Schema.Literals([0, 1, 2, 3])
export type Lane = typeof Lane.Type

/** All lanes, most urgent first. */
export const lanes = [0, 1, 2, 3] as const satisfies ReadonlyArray<Lane>

/** Whether a lane holds retries. */
export const isRetryLane = (lane: Lane): boolean => lane === 1 || lane === 3

/** Whether a lane holds urgent deliveries. */
export const isUrgentLane = (lane: Lane): boolean => lane <= 1

/** Returns how much of a concurrency a lane may use: all if it is urgent, otherwise four fifths, but at least 1. */
export const concurrencyFor = (lane: Lane, concurrency: number): number =>
  isUrgentLane(lane) ? concurrency : Math.max(1, Math.floor(concurrency * 0.8))

/** Returns the lane of a delivery after this many attempts. */
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
  /** Number of early attempts that failed. They don't count in the schedule. */
  readonly early: number
  /** The scheduled due time of an early attempt, in milliseconds since the epoch; null if it is not early. */
  readonly early_due_at: number | null
  /**
   * Whether an operator or owner requested this attempt. A requested attempt is made even after the event's lifetime.
   */
  readonly resend: boolean
  readonly event: Event
  readonly integration: Integration
}

/** Whether a delivery is attempted before its scheduled time. */
export const isEarly = ({ early_due_at }: Pick<LeasedDelivery, "early_due_at">): boolean => early_due_at !== null
