/**
 * Retry policies: when an unacknowledged delivery is attempted again.
 *
 * A policy has a delay for each retry, counted from the end of the failed attempt, and optionally a lifetime for
 * events. Jitter only lengthens delays, so retries are never earlier than configured.
 */
import { DateTime } from "effect"
import * as DurationText from "./DurationText.ts"

/** All times are in milliseconds. */
export interface RetryPolicy {
  readonly delays: ReadonlyArray<number>
  /** How long an event may be sent after its publication; null for no limit. */
  readonly lifetime: number | null
}

/** The policy of each resource type. The built-in types always have one. */
export interface RetryPolicies extends Readonly<Record<string, RetryPolicy>> {
  readonly access_log: RetryPolicy
  readonly call: RetryPolicy
}

/**
 * Returns the policy of a resource type. For a stored type that is no longer declared, this is the policy of access
 * logs, so that events are still sent for days.
 */
export const policyOf = (policies: RetryPolicies, type: string): RetryPolicy =>
  (Object.hasOwn(policies, type) ? policies[type] : undefined) ?? policies.access_log

/** Maximum jitter, as a fraction of the delay. */
export const maxJitter = 0.2

/** Longest `Retry-After` that is respected, in milliseconds. */
export const maxRetryAfter = 3_600_000

/** Returns the first problem of a policy, with the index of the delay; null if there is none. */
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

/** The decision after a failed attempt. */
export type RetryDecision =
  | { readonly _tag: "RetryAt"; readonly at: number }
  | { readonly _tag: "Exhausted" }
  | { readonly _tag: "Expired" }

/** Returns when an event is too old to be sent, in milliseconds since the epoch; null if it never is. */
export const expiryOf = ({ lifetime }: RetryPolicy, publishedAt: number): number | null =>
  lifetime === null ? null : publishedAt + lifetime

/** Whether an event is too old to be sent. */
export const isExpired = (policy: RetryPolicy, publishedAt: number, now: number): boolean => {
  const expiry = expiryOf(policy, publishedAt)
  return expiry !== null && now >= expiry
}

/** Returns for each resource type with a lifetime when the oldest event was published that is not too old to be sent. */
export const unexpiredSince = (policies: RetryPolicies, now: number): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(policies).flatMap(([type, { lifetime }]) => (lifetime === null ? [] : [[type, now - lifetime + 1]]))
  )

/**
 * Decides what happens after the failure of attempt number `failed`.
 *
 * After the last delay, the delivery ends: as expired if its event has a lifetime, otherwise as exhausted. No retry is
 * made after the lifetime.
 */
export const next = (
  policy: RetryPolicy,
  input: {
    readonly failed: number
    readonly publishedAt: number
    readonly now: number
    /** Between 0 (inclusive) and 1 (exclusive). */
    readonly random: number
    /** The receiver's `Retry-After`, in milliseconds; null without one. */
    readonly retryAfter: number | null
  }
): RetryDecision => {
  const written = policy.delays[input.failed - 1]
  const ended: RetryDecision = policy.lifetime === null ? { _tag: "Exhausted" } : { _tag: "Expired" }
  if (written === undefined) return ended
  // Stored overrides are not checked again. Another program may have written longer delays.
  const delay = Math.min(written, DurationText.longest)
  const jittered = delay + Math.floor(delay * maxJitter * input.random)
  const at = input.now + Math.max(jittered, Math.min(input.retryAfter ?? 0, maxRetryAfter))
  return isExpired(policy, input.publishedAt, at) ? { _tag: "Expired" } : { _tag: "RetryAt", at }
}

/** Obsolete date forms (RFC 9110 section 5.6.7): RFC 850 with a two-digit year, and C's `asctime`. */
const dateOfRfc850 = /^[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d:\d\d:\d\d) GMT$/
const dateOfAsctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/

/** Returns the latest year with these last two digits that is at most fifty years ahead. */
const yearOf = (digits: number, now: number): number => {
  const horizon = DateTime.getPartUtc(DateTime.makeUnsafe(now), "year") + 50
  return horizon - ((horizon - digits) % 100)
}

/**
 * Parses a date, in one of the forms that recipients must accept, to milliseconds since the epoch; NaN for other text.
 */
const parseDate = (text: string, now: number): number => {
  const [, day850, month850, digits, time850] = dateOfRfc850.exec(text) ?? []
  if (digits !== undefined) return Date.parse(`${day850} ${month850} ${yearOf(Number(digits), now)} ${time850} GMT`)
  const [, month, day, time, year] = dateOfAsctime.exec(text) ?? []
  if (year !== undefined) return Date.parse(`${day} ${month} ${year} ${time} GMT`)
  // Date.parse alone would accept almost any text.
  return /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN
}

/**
 * Parses a `Retry-After` header (RFC 9110 section 10.2.3: seconds or a date) to milliseconds, at most ten years. Null
 * if it is invalid.
 */
export const parseRetryAfter = (header: string | null, now: number): number | null => {
  if (header === null) return null
  const text = header.trim()
  const wait = /^\d+$/.test(text) ? Number(text) * 1_000 : Math.max(0, parseDate(text, now) - now)
  return Number.isNaN(wait) ? null : Math.min(wait, DurationText.longest)
}
