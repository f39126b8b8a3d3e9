/**
 * When a delivery that was not acknowledged is tried again.
 *
 * A policy is a list of delays, one for each retry, counted from the end of the failed attempt, and a lifetime of the
 * event. Jitter only adds: a retry never comes earlier than written.
 */
import * as DurationText from "../domain/DurationText.ts"

/** All times in milliseconds. */
export interface RetryPolicy {
  readonly delays: ReadonlyArray<number>
  /** How long after its publication an event is worth sending; null is for ever. */
  readonly lifetime: number | null
}

/** The most that jitter adds, as a share of the delay. */
export const maxJitter = 0.2

/** The longest a receiver can ask us to wait by `Retry-After`, in milliseconds. */
export const maxRetryAfter = 3_600_000

/** What is wrong with a delay of a policy, by its place in the list; null when nothing is. */
export const flawOf = ({ delays, lifetime }: RetryPolicy): { readonly at: number; readonly detail: string } | null => {
  const wrong = delays.findIndex((delay) => !(delay >= 0 && delay <= DurationText.longest))
  if (wrong !== -1) return { at: wrong, detail: `must be at most ${DurationText.format(DurationText.longest)}` }
  const [first = 0] = delays
  if (lifetime === null || first < lifetime) return null
  const [given, end] = [DurationText.format(first), DurationText.format(lifetime)]
  return { at: 0, detail: `must be less than the lifetime of ${end}, not ${given}: nothing would be retried` }
}

/** What follows a failed attempt. */
export type RetryDecision =
  | { readonly _tag: "RetryAt"; readonly at: number }
  | { readonly _tag: "Exhausted" }
  | { readonly _tag: "Expired" }

/** Whether an event is too old to be sent. */
export const isExpired = (policy: RetryPolicy, publishedAt: number, now: number): boolean =>
  policy.lifetime !== null && now >= publishedAt + policy.lifetime

/**
 * Decides what follows the failure of attempt number `failed`, at `now`.
 *
 * A policy with a lifetime ends as expired, one without as exhausted, when its delays are used up: what has a lifetime
 * was not given up on, it became worthless. A retry that would come after the lifetime is not made.
 */
export const next = (
  policy: RetryPolicy,
  input: {
    readonly failed: number
    readonly publishedAt: number
    readonly now: number
    /** Between 0 (inclusive) and 1 (exclusive). */
    readonly random: number
    /** What the receiver asked for, in milliseconds; null when it asked for nothing. */
    readonly retryAfter: number | null
  }
): RetryDecision => {
  const written = policy.delays[input.failed - 1]
  const ended: RetryDecision = policy.lifetime === null ? { _tag: "Exhausted" } : { _tag: "Expired" }
  if (written === undefined) return ended
  // What was stored before there was a limit may be longer.
  const delay = Math.min(written, DurationText.longest)
  const jittered = delay + Math.floor(delay * maxJitter * input.random)
  const at = input.now + Math.max(jittered, Math.min(input.retryAfter ?? 0, maxRetryAfter))
  return isExpired(policy, input.publishedAt, at) ? { _tag: "Expired" } : { _tag: "RetryAt", at }
}

/** Milliseconds of a `Retry-After` header (RFC 9110 section 10.2.3: seconds or a date); null when unreadable. */
export const parseRetryAfter = (header: string | null, now: number): number | null => {
  if (header === null) return null
  const text = header.trim()
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1_000
  // Date.parse alone would take almost anything for a date.
  const date = /^[A-Z][a-z]{2,8}, /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
