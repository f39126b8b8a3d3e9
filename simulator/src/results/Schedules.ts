/**
 * Whether what follows a failed attempt is what the schedule says: the retry, or that there is none.
 */
import type { Event, RetrySchedule, Settlement, TransportResult } from "@doorhook/core"
import { RetryPolicy } from "@doorhook/core"
import { dueWindow } from "../engine/rules/DueWindow.ts"
import { mayGiveUp } from "../engine/rules/GivingUp.ts"

/** A delivery that was attempted: how often, and how and when the last time ended. */
export interface Attempted {
  readonly event: Event
  readonly attempts: number
  /** How many attempts before the last were made early and failed. */
  readonly early: number
  /** When the last attempt was due, if it was made early; null otherwise. */
  readonly earlyOf: number | null
  readonly last: TransportResult | null
  readonly lastEnd: number
}

/** What the last answer asked the next attempt to wait, in milliseconds. */
const askedBy = ({ last, lastEnd }: Attempted): number => {
  const asks = last?._tag === "Answered" && (last.status === 429 || last.status === 503) ? last.retry_after : null
  return Math.min(RetryPolicy.parseRetryAfter(asks, lastEnd) ?? 0, RetryPolicy.maxRetryAfter)
}

/** What is wrong with when the retry of a failed early attempt is due: when it was, or when the receiver asked for. */
const flawOfEarly = (
  { attempts, early, earlyOf, ...delivery }: Attempted & { readonly earlyOf: number },
  settlement: Pick<Settlement, "early" | "next_attempt_at">,
  tolerance: number
): string | null => {
  if (settlement.early !== early + 1) return `counts attempt ${attempts}, which was made early, in its schedule`
  const asked = askedBy({ attempts, early, earlyOf, ...delivery })
  const dueAt = Math.max(earlyOf, asked === 0 ? 0 : delivery.lastEnd + asked)
  return Math.abs((settlement.next_attempt_at ?? 0) - dueAt) <= tolerance
    ? null
    : `is not due when it was before attempt ${attempts}, which was made early`
}

/** What is wrong with when a retry is due; null when nothing is. */
export const flawOfRetry = (
  delivery: Attempted,
  { delays }: RetrySchedule,
  settlement: Pick<Settlement, "early" | "next_attempt_at">,
  tolerance: number
): string | null => {
  const { attempts, earlyOf, lastEnd } = delivery
  if (earlyOf !== null) return flawOfEarly({ ...delivery, earlyOf }, settlement, tolerance)
  const { next_attempt_at: dueAt } = settlement
  const delay = delays[attempts - delivery.early - 1]
  if (delay === undefined || dueAt === null) return `has no retry ${attempts} in its schedule`
  const { from, to } = dueWindow(lastEnd, delay, askedBy(delivery))
  if (dueAt >= from - tolerance && dueAt <= to + tolerance) return null
  return `has a retry ${dueAt - lastEnd} ms after attempt ${attempts}, which its schedule does not say`
}

/** What is wrong with ending what was not acknowledged; null when nothing is. */
export const flawOfEnd = (
  delivery: Attempted,
  schedule: RetrySchedule,
  { attempt, state }: Pick<Settlement, "attempt" | "state">,
  now: number,
  tolerance: number
): string | null => {
  const { attempts, early, event, last, lastEnd } = delivery
  const failed = attempt === null ? null : { number: attempts - early, end: lastEnd, asked: askedBy(delivery) }
  const isRight =
    state === "cancelled"
      ? last?._tag === "Answered" && last.status === 410
      : mayGiveUp(schedule, event.created_at - tolerance, now, failed)
  return isRight ? null : `is ${state} after ${attempts} attempts, which its schedule does not say`
}
