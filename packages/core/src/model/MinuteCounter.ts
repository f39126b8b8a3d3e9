/**
 * Counts per id and minute, in this process. All counts are reset together, so memory is limited to the ids of one
 * minute.
 */

/** Length of the window, in milliseconds. */
export const minuteWindow = 60_000

export interface Counted {
  /** Occurrences of the id in this minute, including this one. */
  readonly count: number
  /** Seconds left in the minute. */
  readonly seconds: number
}

/** Makes an empty counter. The counter takes an id and the time in milliseconds since the epoch. */
export const makeMinuteCounter = (): ((id: string | number, now: number) => Counted) => {
  const counts = new Map<string | number, number>()
  let start = Number.NEGATIVE_INFINITY
  return (id, now) => {
    // Also resets if the clock was set back.
    if (now - start >= minuteWindow || now < start) {
      counts.clear()
      start = now
    }
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return { count, seconds: Math.ceil((start + minuteWindow - now) / 1_000) }
  }
}
