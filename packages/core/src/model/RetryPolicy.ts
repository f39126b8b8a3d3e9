/**
 * When a delivery that was not acknowledged is tried again.
 *
 * A policy is a list of delays, one for each retry, counted from the end of the failed attempt, and a lifetime of the
 * event. Jitter only adds: a retry never comes earlier than written.
 */
import { DateTime } from "effect"
import * as DurationText from "./DurationText.ts"

/** All times in milliseconds. */
export interface RetryPolicy {
  readonly delays: ReadonlyArray<number>
  /** How long after its publication an event is worth sending; null is for ever. */
  readonly lifetime: number | null
}

/** The policy of each resource type; the built-in types always have one. */
export interface RetryPolicies extends Readonly<Record<string, RetryPolicy>> {
  readonly access_log: RetryPolicy
  readonly call: RetryPolicy
}

/**
 * The policy of a resource type. A type that is stored but not declared any more has that of access logs: its events are
 * still sent, with long patience.
 */
export const policyOf = (policies: RetryPolicies, type: string): RetryPolicy =>
  (Object.hasOwn(policies, type) ? policies[type] : undefined) ?? policies.access_log

/** The most that jitter adds, as a share of the delay. */
export const maxJitter = 0.2

/** The longest a receiver can ask us to wait by `Retry-After`, in milliseconds. */
export const maxRetryAfter = 3_600_000

/** What is wrong with a delay of a policy, by its place in the list; null when nothing is. */
export const problemOf = ({
  delays,
  lifetime
}: RetryPolicy): { readonly at: number; readonly detail: string } | null => {
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

/** The obsolete forms of a date (RFC 9110 section 5.6.7): of RFC 850, with two digits of the year, and of C's `asctime`. */
const dateOfRfc850 = /^[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d:\d\d:\d\d) GMT$/
const dateOfAsctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/

/** The last year that ends in two digits and is no more than fifty years ahead. */
const yearOf = (digits: number, now: number): number => {
  const horizon = DateTime.getPartUtc(DateTime.makeUnsafe(now), "year") + 50
  return horizon - ((horizon - digits) % 100)
}

/** A date in one of the forms that recipients must accept, in milliseconds since the epoch; NaN for anything else. */
const parseDate = (text: string, now: number): number => {
  const [, day850, month850, digits, time850] = dateOfRfc850.exec(text) ?? []
  if (digits !== undefined) return Date.parse(`${day850} ${month850} ${yearOf(Number(digits), now)} ${time850} GMT`)
  const [, month, day, time, year] = dateOfAsctime.exec(text) ?? []
  if (year !== undefined) return Date.parse(`${day} ${month} ${year} ${time} GMT`)
  // Date.parse alone would take almost anything for a date.
  return /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN
}

/**
 * Milliseconds of a `Retry-After` header (RFC 9110 section 10.2.3: seconds, however many, or a date), ten years at most; null
 * when unreadable.
 */
export const parseRetryAfter = (header: string | null, now: number): number | null => {
  if (header === null) return null
  const text = header.trim()
  const wait = /^\d+$/.test(text) ? Number(text) * 1_000 : Math.max(0, parseDate(text, now) - now)
  return Number.isNaN(wait) ? null : Math.min(wait, DurationText.longest)
}
