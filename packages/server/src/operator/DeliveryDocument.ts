/**
 * Deliveries as the operator sees them: ids as `dlv_…`, times as ISO 8601 UTC.
 */
import { Explanation, formatDeliveryId, isoOf } from "@doorhook/core"
import type { Delivery, DeliverySummary, DeliveryWithAttempts, ListedDelivery } from "@doorhook/core"

const summaryOf = (delivery: Delivery) => ({
  id: formatDeliveryId(delivery.id),
  event_id: delivery.event_id,
  integration_id: String(delivery.integration_id),
  state: delivery.state,
  reason: delivery.reason,
  attempts: delivery.attempts,
  next_attempt_at: delivery.next_attempt_at === null ? null : isoOf(delivery.next_attempt_at),
  created_at: isoOf(delivery.created_at)
})

/** A delivery in a list, with how its last attempt ended. */
export const listedOf = (delivery: ListedDelivery) => ({
  ...summaryOf(delivery),
  last_attempt:
    delivery.last_attempt === null
      ? null
      : { ...delivery.last_attempt, started_at: isoOf(delivery.last_attempt.started_at) }
})

/** A delivery with its attempts, the first one first, and what all of it means. */
export const detailOf = (delivery: DeliveryWithAttempts) => ({
  ...summaryOf(delivery),
  explanation: delivery.explanation,
  attempts: delivery.history.map((attempt) => ({
    ...attempt,
    explanation: Explanation.explainAttempt(attempt),
    started_at: isoOf(attempt.started_at)
  }))
})

/** What there is in all. */
export const countsOf = ({ events, oldest_due_at, states }: DeliverySummary) => ({
  events,
  deliveries: states,
  oldest_due_at: oldest_due_at === null ? null : isoOf(oldest_due_at)
})
