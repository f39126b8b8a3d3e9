/**
 * Rules about the history of one delivery, on plain values. The ledger of a run and the deterministic simulation of the
 * engine both apply them. They repeat nothing from the engine that they judge. All times are in milliseconds.
 */
import type { Settlement, TransportResult } from "@doorhook/core"

/** Whether a result acknowledges a delivery. `takes2xx`: whether the integration accepts any 2xx. */
export const acknowledges = (
  result: TransportResult | null | undefined,
  ackTimeout: number,
  takes2xx = false
): boolean =>
  result?._tag === "Answered" &&
  result.headers_elapsed <= ackTimeout &&
  (result.status === 200 || (takes2xx && result.status >= 200 && result.status < 300))

/** Longest `Retry-After` that is respected. */
export const longestRetryAfter = 3_600_000

/** Returns the `Retry-After` of a result that ended at an instant, in seconds or as a date; 0 for none. */
export const retryAfterOf = (result: TransportResult | null, endedAt: number): number => {
  if (result?._tag !== "Answered" || (result.status !== 429 && result.status !== 503)) return 0
  const asked = result.retry_after ?? ""
  const wait = /^\d+$/.test(asked) ? Number(asked) * 1_000 : Date.parse(asked) - endedAt
  return Number.isNaN(wait) ? 0 : Math.min(Math.max(0, wait), longestRetryAfter)
}

/** The last attempt of a delivery. */
export interface LastAttempt {
  readonly number: number
  /** Number of earlier attempts that were early and failed. They don't count in the schedule. */
  readonly early: number
  /** Regular due time of an early attempt, else null. */
  readonly earlyOf: number | null
  readonly endedAt: number
  readonly retryAfter: number
}

/** A retry policy, with all schedules that may have applied. */
export interface Policy {
  readonly schedules: ReadonlyArray<ReadonlyArray<number>>
  /** How long an event may be sent after its publication; null for no limit. */
  readonly lifetime: number | null
}

const maxJitter = 0.2

/** Returns the longest wait for a retry after a delay. */
export const longestDelay = (delay: number): number => Math.floor(delay * (1 + maxJitter))

interface Window {
  readonly from: number
  readonly to: number
}

/** Returns when the next attempt may be due: a window for each schedule that has another retry. */
const windowsAfter = (
  { early, earlyOf, endedAt, number, retryAfter }: LastAttempt,
  { schedules }: Policy
): ReadonlyArray<Window> => {
  if (earlyOf !== null) {
    const due = retryAfter === 0 ? earlyOf : Math.max(earlyOf, endedAt + retryAfter)
    return [{ from: due, to: due }]
  }
  return schedules.flatMap((delays) => {
    const delay = delays[number - early - 1]
    if (delay === undefined) return []
    return [{ from: endedAt + Math.max(delay, retryAfter), to: endedAt + Math.max(longestDelay(delay), retryAfter) }]
  })
}

/** The end of a delivery or its next retry, as settled. */
export interface Verdict extends Pick<Settlement, "state" | "next_attempt_at" | "early"> {
  readonly settledAt: number
  readonly publishedAt: number
  /** The attempt that is settled; null if the delivery ended without one. */
  readonly last: LastAttempt | null
}

/**
 * Describes what is wrong with the settlement of a delivery that was not acknowledged; null if it is right. `tolerance`:
 * how far clocks may differ.
 */
export const flawOf = (
  { early, last, next_attempt_at: dueAt, publishedAt, settledAt, state }: Verdict,
  policy: Policy,
  tolerance: number
): string | null => {
  const { lifetime } = policy
  if (last === null) {
    const isOver = state === "expired" && lifetime !== null && settledAt + tolerance >= publishedAt + lifetime
    return isOver ? null : `is ${state} without an attempt, against its schedule`
  }
  const windows = windowsAfter(last, policy)
  if (state === "retrying") {
    if (early !== last.early + (last.earlyOf === null ? 0 : 1))
      return `counts ${early} early attempts after attempt ${last.number}`
    if (windows.length === 0 || dueAt === null)
      return `is to be retried after attempt ${last.number}, but its schedule has no such retry`
    if (windows.some(({ from, to }) => dueAt >= from - tolerance && dueAt <= to + tolerance)) return null
    return `has a retry ${dueAt - last.endedAt} ms after attempt ${last.number}, against its schedule`
  }
  const isUsedUp = last.earlyOf === null && windows.length < policy.schedules.length
  const isTooLate = lifetime !== null && windows.some(({ to }) => to + tolerance >= publishedAt + lifetime)
  const isRight = state === "expired" ? lifetime !== null && (isUsedUp || isTooLate) : lifetime === null && isUsedUp
  return isRight ? null : `is ${state} after ${last.number} attempts, against its schedule`
}

/**
 * Describes what is wrong with the time of a retry; null if it is right. `slack`: the longest wait after the due time, or
 * null if the retry may be late.
 */
export const flawOfStart = (at: number, dueAt: number, tolerance: number, slack: number | null): string | null => {
  if (at < dueAt - tolerance) return `${dueAt - at} ms before it was due`
  return slack !== null && at - dueAt > slack ? `${at - dueAt} ms after it was due` : null
}
