/**
 * Decides when an integration without acknowledgements is disabled, and when operators are warned before that.
 *
 * A failure starts at the first failed attempt after the last acknowledgement, and one acknowledgement ends it.
 * Integrations without attempts don't start to fail. An integration is disabled after a minimum time and a minimum
 * number of failed attempts, so a rarely used integration is not disabled by its second failure. Warnings depend only
 * on the time.
 */

/** The current failure of an integration. */
export interface FailureState {
  /** When the current run of failures began, in milliseconds since the epoch. */
  readonly since: number
  /** Number of `warningThresholds` that have been reported. */
  readonly warnings: number
  /** Number of failed attempts since the start. */
  readonly attempts: number
  /**
   * Earliest next request according to the receiver's `Retry-After`, in milliseconds since the epoch; null without one.
   */
  readonly retry_after: number | null
}

/** Failed attempts required before an integration is disabled. */
export const leastFailedAttempts = 10

/** Default duration of a failure after which an integration is disabled, in milliseconds. */
export const defaultDisableAfter = 3 * 24 * 3_600_000

/** Fractions of `disableAfter` at which operators are warned. */
export const warningThresholds = [0.5, 0.7, 0.9] as const

/** Results of a batch of attempts of one integration. */
export interface AttemptResults {
  readonly acknowledged: boolean
  /** Number of failed attempts. */
  readonly failed: number
  /** The latest `Retry-After` time of the receiver; null without one. */
  readonly retry_after: number | null
}

/** The consequences of a batch of attempts for the integration. */
export interface FailureDecision {
  /** The new failure state; null if the integration is not failing. */
  readonly failing: FailureState | null
  /** Whether a warning is due. */
  readonly warn: boolean
  /** Whether the integration must be disabled. */
  readonly disable: boolean
  /** Whether a recovery must be reported, because a warning was reported before. */
  readonly recovered: boolean
}

/** Returns the next failure state if another warning threshold was crossed, else null. */
export const nextWarning = (failing: FailureState, now: number, disableAfter: number): FailureState | null => {
  const passed = warningThresholds.filter((share) => now - failing.since >= share * disableAfter).length
  return passed > failing.warnings ? { ...failing, warnings: passed } : null
}

/**
 * Returns the thresholds as bounds for queries. A failure has crossed a threshold if its `since` is not later than the
 * bound.
 */
export const warningCutoffs = (now: number, disableAfter: number): ReadonlyArray<number> =>
  warningThresholds.map((share) => Math.floor(now - share * disableAfter))

/** Returns the later of two times, either of which may be missing. */
export const laterOf = (a: number | null, b: number | null): number | null =>
  a === null || (b !== null && b > a) ? b : a

/**
 * Evaluates an enabled integration at `now`. One acknowledgement outweighs any number of failures in the same batch.
 */
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
