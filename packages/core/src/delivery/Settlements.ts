/**
 * What an attempt's outcome makes of its delivery: the transitions of the state machine in `model/Delivery`.
 */
import type { Attempt, LeasedDelivery } from "../model/Delivery.ts"
import { isUrgentLane, laneOf } from "../model/Delivery.ts"
import * as DurationText from "../model/DurationText.ts"
import type { Settlement } from "../ports/DeliveryStore.ts"
import type { RetryPolicy } from "../model/RetryPolicy.ts"
import { maxRetryAfter, next } from "../model/RetryPolicy.ts"

/** The status with which a receiver says that it is gone for good (RFC 9110 section 15.5.11). */
export const goneStatus = 410

/**
 * How long a delivery answered 410 waits when its integration cannot be disabled yet, because a host's transaction is
 * publishing to it, in milliseconds.
 */
export const goneRetryDelay = 5_000

/** Doubles each time, up to 21 minutes: publishing may never pause. */
const goneRetryDelayAfter = (number: number): number => goneRetryDelay * 2 ** Math.min(number - 1, 8)

/** Statuses whose `Retry-After` is respected. */
export const respectsRetryAfter = (status: number | null): boolean => status === 429 || status === 503

/** The `Retry-After` that a detail names, as a duration text; null without one. */
export const waitIn = (detail: string | null): string | null =>
  /^asked to wait (\S+) \(Retry-After\)/.exec(detail ?? "")?.[1] ?? null

/** Adds the `Retry-After` that was asked for to the attempt's detail. */
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

/** What follows an attempt that was made. */
export const settleAttempt = (
  delivery: LeasedDelivery,
  attempt: Attempt,
  policy: RetryPolicy,
  context: { readonly now: number; readonly random: number; readonly retryAfter: number | null }
): Settlement => {
  if (attempt.outcome === "acknowledged") return settlement(delivery, attempt, ended("delivered", null))
  if (attempt.status === goneStatus) return settlement(delivery, attempt, ended("cancelled", "integration_gone", true))
  const retryAfter = respectsRetryAfter(attempt.status) ? context.retryAfter : null
  const retryAfterUntil = retryAfter === null ? null : context.now + Math.min(retryAfter, maxRetryAfter)
  const settledAs = (ending: Result): Settlement =>
    settlement(delivery, withWait(attempt, retryAfter), ending, retryAfterUntil)
  const retryAt = (next_attempt_at: number): Settlement =>
    settledAs({ state: "retrying", reason: null, next_attempt_at, gone: false })
  const { early_due_at } = delivery
  // An early attempt does not use up the schedule: the delivery stays due when it was, or when the receiver asks for.
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

/** Ends a delivery whose event is too old to be worth an attempt. */
export const settleExpired = (delivery: LeasedDelivery): Settlement =>
  settlement(delivery, null, ended("expired", "lifetime_over"))

/** Ends a delivery whose integration's owner has lost the right to see the event. */
export const settleRightLost = (delivery: LeasedDelivery): Settlement =>
  settlement(delivery, null, ended("cancelled", "right_lost"))

/**
 * What becomes of a delivery whose receiver is gone, where the integration can't be disabled now: it is sent again in a
 * while. So the delivery itself remembers that there is something left to do, whatever happens to the process.
 */
export const retryAfterGone = (settlement: Settlement, now: number): Settlement => {
  if (!settlement.gone) return settlement
  const pause = goneRetryDelayAfter(settlement.attempt?.number ?? 1)
  return { ...settlement, state: "retrying", reason: null, next_attempt_at: now + pause, gone: false }
}
