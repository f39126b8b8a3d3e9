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
  readonly last: TransportResult | null
  readonly lastEnd: number
}

/** What the last answer asked the next attempt to wait, in milliseconds. */
const askedBy = ({ last, lastEnd }: Attempted): number => {
  const asks = last?._tag === "Answered" && (last.status === 429 || last.status === 503) ? last.retry_after : null
  return Math.min(RetryPolicy.parseRetryAfter(asks, lastEnd) ?? 0, RetryPolicy.maxRetryAfter)
}

/** What is wrong with when a retry is due; null when nothing is. */
export const flawOfRetry = (
  delivery: Attempted,
  { delays }: RetrySchedule,
  dueAt: number | null,
  tolerance: number
): string | null => {
  const { attempts, lastEnd } = delivery
  const delay = delays[attempts - 1]
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
  const { attempts, event, last, lastEnd } = delivery
  const failed = attempt === null ? null : { number: attempts, end: lastEnd, asked: askedBy(delivery) }
  const isRight =
    state === "cancelled"
      ? last?._tag === "Answered" && last.status === 410
      : mayGiveUp(schedule, event.created_at - tolerance, now, failed)
  return isRight ? null : `is ${state} after ${attempts} attempts, which its schedule does not say`
}
