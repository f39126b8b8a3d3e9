/**
 * Decides the next state of a delivery from the outcome of its attempt. The state machine is in `model/Delivery`.
 */
import type { Attempt, LeasedDelivery } from "../model/Delivery.ts"
import { isUrgentLane, laneOf } from "../model/Delivery.ts"
import * as DurationText from "../model/DurationText.ts"
import type { Settlement } from "../ports/DeliveryStore.ts"
import type { RetryPolicy } from "../model/RetryPolicy.ts"
import { refusedForGood } from "../model/Subscription.ts"
import { maxRetryAfter, next } from "../model/RetryPolicy.ts"

/** Status of a receiver that is permanently gone (RFC 9110 section 15.5.11). */
export const goneStatus = 410

/**
 * First retry delay, in milliseconds, after a 410 from an integration that can't be disabled now because a host's
 * transaction is publishing to it.
 */
export const goneRetryDelay = 5_000

/** Doubles the delay with each attempt, up to 21 minutes, because the host may publish without a pause. */
const goneRetryDelayAfter = (number: number): number => goneRetryDelay * 2 ** Math.min(number - 1, 8)

/** Statuses whose `Retry-After` is respected. */
export const respectsRetryAfter = (status: number | null): boolean => status === 429 || status === 503

/** Returns the `Retry-After` named in an attempt's detail, as duration text; null if there is none. */
export const waitIn = (detail: string | null): string | null =>
  /^asked to wait (\S+) \(Retry-After\)/.exec(detail ?? "")?.[1] ?? null

/** Adds the `Retry-After` to the attempt's detail. */
const withWait = (attempt: Attempt, retryAfter: number | null): Attempt => {
  if (retryAfter === null) return attempt
  const asked = `asked to wait ${DurationText.format(Math.ceil(retryAfter / 1_000) * 1_000)} (Retry-After)`
  return {
    ...attempt,
    detail: retryAfter > maxRetryAfter ? `${asked}, of which ${DurationText.format(maxRetryAfter)} is respected` : asked
  }
}

type Result = Pick<Settlement, "state" | "reason" | "next_attempt_at" | "gone">

const settlement = (
  delivery: LeasedDelivery,
  attempt: Attempt | null,
  ending: Result,
  retry_after: number | null = null
): Settlement => ({
  delivery_id: delivery.id,
  integration_id: delivery.integration.id,
  attempt,
  early: delivery.early,
  retry_after,
  lane: laneOf({ urgent: isUrgentLane(delivery.lane) }, attempt === null ? delivery.attempts : attempt.number),
  ...ending
})

const ended = (state: Result["state"], reason: Result["reason"], gone = false): Result => ({
  state,
  reason,
  next_attempt_at: null,
  gone
})

/**
 * Returns the settlement of an attempt. If the integration was changed during the attempt, a 410 is an ordinary failure,
 * because it may come from the former URL.
 */
export const settleAttempt = (
  delivery: LeasedDelivery,
  attempt: Attempt,
  policy: RetryPolicy,
  context: {
    readonly now: number
    readonly random: number
    readonly retryAfter: number | null
    readonly wasChanged: boolean
  }
): Settlement => {
  if (attempt.outcome === "acknowledged") return settlement(delivery, attempt, ended("delivered", null))
  const { subscription } = delivery.integration
  // The receiver of a subscription refuses an event, not all events, with these statuses.
  if (subscription !== undefined && refusedForGood.includes(attempt.status))
    return settlement(delivery, attempt, ended("exhausted", "schedule_used_up"))
  if (attempt.status === goneStatus && !context.wasChanged)
    return settlement(delivery, attempt, ended("cancelled", "integration_gone", true))
  const retryAfter = respectsRetryAfter(attempt.status) ? context.retryAfter : null
  const retryAfterUntil = retryAfter === null ? null : context.now + Math.min(retryAfter, maxRetryAfter)
  const settledAs = (ending: Result): Settlement =>
    settlement(delivery, withWait(attempt, retryAfter), ending, retryAfterUntil)
  const retryAt = (next_attempt_at: number): Settlement =>
    settledAs({ state: "retrying", reason: null, next_attempt_at, gone: false })
  const { early_due_at } = delivery
  // An early attempt does not count in the schedule. The delivery stays due as scheduled unless the receiver asks for a
  // later time.
  if (early_due_at !== null)
    return { ...retryAt(Math.max(early_due_at, retryAfterUntil ?? 0)), early: delivery.early + 1 }
  const decision = next(policy, {
    failed: attempt.number - delivery.early,
    publishedAt: delivery.event.created_at,
    now: context.now,
    random: context.random,
    retryAfter
  })
  switch (decision._tag) {
    case "RetryAt":
      return retryAt(decision.at)
    case "Exhausted":
      return settledAs(ended("exhausted", "schedule_used_up"))
    case "Expired":
      return settledAs(ended("expired", "lifetime_over"))
  }
}

/** Returns the settlement that ends a delivery because its event's lifetime is over. */
export const settleExpired = (delivery: LeasedDelivery): Settlement =>
  settlement(delivery, null, ended("expired", "lifetime_over"))

/** Returns the settlement that ends a delivery because its integration's owner has lost the right to the event. */
export const settleRightLost = (delivery: LeasedDelivery): Settlement =>
  settlement(delivery, null, ended("cancelled", "right_lost"))

/** Returns the settlement that ends a delivery because its subscription has ended and is about to be removed. */
export const settleUnsubscribed = (delivery: LeasedDelivery): Settlement =>
  settlement(delivery, null, ended("cancelled", "integration_deleted"))

/**
 * Turns a 410 settlement into a retry, for an integration that can't be disabled now. The 410 is not lost: the receiver
 * will answer the retry with 410 too, even if another process sends it.
 */
export const retryAfterGone = (settlement: Settlement, now: number): Settlement => {
  if (!settlement.gone) return settlement
  const pause = goneRetryDelayAfter(settlement.attempt?.number ?? 1)
  return { ...settlement, state: "retrying", reason: null, next_attempt_at: now + pause, gone: false }
}
