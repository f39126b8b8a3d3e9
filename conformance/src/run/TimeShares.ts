/**
 * How the time of a run (`--max-time`) is divided. The shares are limits, not a budget: a run ends as soon as everything
 * is decided.
 */
export const timeShares = {
  /**
   * When the last case of a kind may begin, as a share of the run's time. Further and sampled cases end early, because a
   * verdict needs only the given ones. After the given cases there must be time for the lane `last`, for cases that move
   * the clock, and at the end for the lane `quiet` and for failures that are repeated.
   */
  until: { given: 0.84, further: 0.6, sampled: 0.6, last: 0.88, beforeClock: 0.85, end: 0.95 },

  /** The lane `last`: usual share (or 12 seconds, if that is longer), so that thousands of other events are sent. */
  last: 0.1,
  /** Minimum for the lane `last`, even if everything else took too long: some hundred events. */
  leastLast: 0.035,

  /** An operation that sends many events beside other cases: 300 events to a receiver that takes 250 ms each. */
  filler: 0.07,
  /** The same in a lane that runs one case at a time, where nothing else happens in the meantime. */
  fillerAlone: 0.035,
  /** The same in a replay and in `doctor`, where nothing else needs the time. */
  fillerInReplay: 0.25,

  /** Longest pause that a receiver may ask for with `retry-after`. */
  longestPause: 0.25,

  /** Waiting for second effects at the end of a run. Other cases usually fill the settling time. */
  lateEffects: 0.1,
  /** Reading all effects once more for that, because a reading may be a slow command. */
  rereading: 0.04,

  /** Repeating and shortening failures, each time that this is done. */
  refining: 0.2,
  /** Of the time that is left for refining: when a failure is no longer shortened, so that others get their turn. */
  shortening: 0.5,
  /** Of the same time: when the shortest history is no longer repeated. */
  confirming: 0.75,

  /** Of a wait for effects: how long later waits last once effects were missing after a full wait. */
  impatience: 0.3
} as const

/**
 * How a run whose time was not set is extended for a receiver that limits requests: in proportion to the time from one
 * request to the next, from `usualInterval` milliseconds on.
 */
export const extension = { usualInterval: 25, most: 4 } as const

/** Usual time for the lane `last`, and shortest wait for effects, in milliseconds. */
export const leastTimes = { last: 12_000, settle: 2_000 } as const
