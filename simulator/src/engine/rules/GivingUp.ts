/**
 * Whether a delivery may be given up that was not acknowledged: its schedule is used up, or its lifetime is over by when it
 * could be sent again.
 */
import type { RetrySchedule } from "@doorhook/core"
import { dueWindow } from "./DueWindow.ts"

/** Times in milliseconds. */
export interface LastAttempt {
  /** Its place in the schedule: attempts that were made early and failed before it do not count. */
  readonly number: number
  readonly end: number
  /** What its answer asked the next one to wait (0: nothing). */
  readonly asked: number
}

/** `last` is the attempt that it is given up after, null for none: then it could have been sent at once. */
export const mayGiveUp = (
  { delays, lifetime }: RetrySchedule,
  publishedAt: number,
  now: number,
  last: LastAttempt | null
): boolean => {
  const delay = last === null ? 0 : delays[last.number - 1]
  if (delay === undefined) return true
  const again = last === null ? now : dueWindow(last.end, delay, last.asked).to
  return lifetime !== null && again >= publishedAt + lifetime
}
