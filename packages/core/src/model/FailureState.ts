/**
 * When an integration that acknowledges nothing is disabled, and when operators are warned before that.
 *
 * The time runs from the first failed attempt after the last acknowledgement. Without attempts an
 * integration does not start to fail, and one acknowledgement ends its failing. It is disabled after a time and a number of
 * failed attempts, so that a quiet one is not disabled by its second failure. One that fails already is warned of by time
 * alone.
 */

/** How an integration fails. */
export interface FailureState {
  /** When the current run of failures began, in milliseconds since the epoch. */
  readonly since: number
  /** How many of `noticeShares` were notified. */
  readonly warnings: number
  /** Failed attempts since then. */
  readonly attempts: number
  /** Until when its receiver asked for no requests (`Retry-After`), in milliseconds since the epoch; null if it did not. */
  readonly retry_after: number | null
}

/** An integration is not disabled for failing before this many failed attempts. */
export const leastFailedAttempts = 10

/** How long an integration may fail before it is disabled, in milliseconds, unless settings say otherwise. */
export const defaultDisableAfter = 3 * 24 * 3_600_000

/** At which shares of that time operators are warned. */
export const warningThresholds = [0.5, 0.7, 0.9] as const

/** What a batch of attempts showed of one integration. */
export interface AttemptResults {
  readonly acknowledged: boolean
  /** How many attempts failed. */
  readonly failed: number
  /** The latest time until which the receiver asked for no requests; null if it did not. */
  readonly retry_after: number | null
}

/** What follows for it. */
export interface FailureDecision {
  /** Null: it does not fail. */
  readonly failing: FailureState | null
  /** A warning that it fails is due. */
  readonly warn: boolean
  /** It has failed for too long. */
  readonly disable: boolean
  /** A warning was stored, and now it acknowledges. */
  readonly recovered: boolean
}

/** The next failure state if another warning threshold was crossed, else null. */
export const nextWarning = (failing: FailureState, now: number, disableAfter: number): FailureState | null => {
  const passed = warningThresholds.filter((share) => now - failing.since >= share * disableAfter).length
  return passed > failing.warnings ? { ...failing, warnings: passed } : null
}

/** `warned` as the bounds of a query: the latest `since` of which each warning is due. */
export const warningCutoffs = (now: number, disableAfter: number): ReadonlyArray<number> =>
  warningThresholds.map((share) => Math.floor(now - share * disableAfter))

/** The later of two times, either of which may be missing. */
export const laterOf = (a: number | null, b: number | null): number | null =>
  a === null || (b !== null && b > a) ? b : a

/** Judges an enabled integration at a time. One acknowledgement outweighs any number of failures beside it. */
export const evaluateFailure = (
  before: FailureState | null,
  evidence: AttemptResults,
  now: number,
  disableAfter: number
): FailureDecision => {
  if (evidence.acknowledged)
    return { failing: null, warn: false, disable: false, recovered: before !== null && before.warnings > 0 }
  if (evidence.failed === 0) return { failing: before, warn: false, disable: false, recovered: false }
  const failing: FailureState = {
    since: before?.since ?? now,
    warnings: before?.warnings ?? 0,
    attempts: (before?.attempts ?? 0) + evidence.failed,
    retry_after: laterOf(before?.retry_after ?? null, evidence.retry_after)
  }
  if (before === null) return { failing, warn: false, disable: false, recovered: false }
  const warning = nextWarning(failing, now, disableAfter)
  const disable = now - failing.since >= disableAfter && failing.attempts >= leastFailedAttempts
  return { failing: warning ?? failing, warn: !disable && warning !== null, disable, recovered: false }
}
