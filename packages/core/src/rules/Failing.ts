/**
 * When an integration that acknowledges nothing is disabled, and who is told before.
 *
 * The time runs from the first failed attempt after the last acknowledgement. So an integration that nothing is sent to
 * does not fail, and one acknowledgement begins anew. Whether to disable it is looked at whenever an attempt has failed;
 * whether to tell of it also while nothing is sent to it, so that a quiet one is not disabled without a word before.
 */

/** How an integration fails. */
export interface Failing {
  /** When the first attempt failed after which none was acknowledged, in milliseconds since the epoch. */
  readonly since: number
  /** How many of `noticeShares` were told. */
  readonly noticed: number
}

/** How long an integration may fail before it is disabled, in milliseconds, unless settings say otherwise. */
export const defaultDisableAfter = 3 * 24 * 3_600_000

/** At which shares of that time those who run the service are told. */
export const noticeShares = [0.5, 0.7, 0.9] as const

/** What a batch of attempts showed of one integration. */
export interface Evidence {
  readonly acknowledged: boolean
  readonly failed: boolean
}

/** What follows for it. */
export interface FailingDecision {
  /** Null: it does not fail. */
  readonly failing: Failing | null
  /** It is time to tell that it fails. */
  readonly notice: boolean
  /** It has failed for too long. */
  readonly disable: boolean
  /** It was told that it fails, and now it acknowledges. */
  readonly recovered: boolean
}

/** How it stands once it was told of, if there is more to tell at a time than was told; null otherwise. Of several notices one. */
export const warned = ({ noticed, since }: Failing, now: number, disableAfter: number): Failing | null => {
  const passed = noticeShares.filter((share) => now - since >= share * disableAfter).length
  return passed > noticed ? { since, noticed: passed } : null
}

/**
 * The same as a search: the latest times since when one fails that is to be told of, by how often it was.
 */
export const warnedSince = (now: number, disableAfter: number): ReadonlyArray<number> =>
  noticeShares.map((share) => Math.floor(now - share * disableAfter))

/** Judges an enabled integration at a time. One acknowledgement outweighs any number of failures beside it. */
export const judgeFailing = (
  before: Failing | null,
  evidence: Evidence,
  now: number,
  disableAfter: number
): FailingDecision => {
  if (evidence.acknowledged)
    return { failing: null, notice: false, disable: false, recovered: before !== null && before.noticed > 0 }
  if (!evidence.failed) return { failing: before, notice: false, disable: false, recovered: false }
  if (before === null) return { failing: { since: now, noticed: 0 }, notice: false, disable: false, recovered: false }
  const told = warned(before, now, disableAfter)
  const disable = now - before.since >= disableAfter
  return { failing: told ?? before, notice: !disable && told !== null, disable, recovered: false }
}
