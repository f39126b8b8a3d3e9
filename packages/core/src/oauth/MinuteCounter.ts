/**
 * Counts by id within a minute, in this process. All counts end with the minute, so no more is held than what came in one.
 */

/** How long is counted, in milliseconds. */
export const minuteWindow = 60_000

export interface Counted {
  /** How often the id came in this minute, this time included. */
  readonly count: number
  /** How many seconds are left of the minute. */
  readonly seconds: number
}

/** A counter without history. Takes an id and the time, in milliseconds since the epoch. */
export const makeMinuteCounter = (): ((id: string | number, now: number) => Counted) => {
  const counts = new Map<string | number, number>()
  let start = Number.NEGATIVE_INFINITY
  return (id, now) => {
    // Start again when the clock was set back.
    if (now - start >= minuteWindow || now < start) {
      counts.clear()
      start = now
    }
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return { count, seconds: Math.ceil((start + minuteWindow - now) / 1_000) }
  }
}
