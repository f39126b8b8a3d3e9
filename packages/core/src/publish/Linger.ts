/**
 * Decides how long a transaction waits for more publish calls (linger).
 *
 * With hundreds of single events per second, most of the cost would be a transaction and disk sync for each event. At
 * such rates, each transaction waits for about four more calls, but not longer than `longest`. Rare calls do not wait.
 * Very frequent calls do not wait either, because they share transactions anyway.
 *
 * Lingering is useless for a caller that waits for each answer before its next call: no call arrives in the second half
 * of the wait. After three such waits in a row, lingering pauses.
 *
 * This module only computes the wait; the publisher waits. All times are in milliseconds.
 */

/** The longest wait. */
export const longest = 10

/** Number of further calls that a transaction waits for. */
const expectedCalls = 4

/**
 * Largest average gap between calls at which transactions wait. With a larger gap, too few calls would share a
 * transaction.
 */
export const sparse = 5

/**
 * Shortest wait. Shorter waits are skipped, because timers are not precise enough and a commit takes this long anyway.
 */
const shortest = 2

/** Gaps are capped at this value before they enter the average. */
const pause = 4 * sparse

/** Weight of a new gap in the moving average. */
const weight = 1 / 8

/** After this many useless waits in a row, lingering pauses for `rest`. */
export const patience = 3

/** Length of that pause. */
export const rest = 1_000

export class Linger {
  /** Average time between two calls. */
  private gap = pause
  private arrivedAt = Number.NEGATIVE_INFINITY
  private since = pause
  private emptyWaits = 0
  private restsUntil = Number.NEGATIVE_INFINITY

  /** Records that `count` calls arrived. */
  arrived(count: number, now: number): void {
    this.since = Math.max(0, now - this.arrivedAt)
    this.arrivedAt = now
    this.gap += (Math.min(pause, this.since / count) - this.gap) * weight
  }

  /** Returns how long the transaction of these calls should wait for more. */
  wait(now: number): number {
    // If the latest calls came in the same millisecond, they are a burst, which does not show when the next will come.
    if (this.since === 0 || this.gap > sparse || now < this.restsUntil) return 0
    const wait = Math.min(longest, Math.round(expectedCalls * this.gap))
    return wait < shortest ? 0 : wait
  }

  /** Records the end of a wait. `cameLate`: whether a call arrived in the second half of the wait. */
  waited(cameLate: boolean, now: number): void {
    this.emptyWaits = cameLate ? 0 : this.emptyWaits + 1
    if (this.emptyWaits < patience) return
    this.emptyWaits = 0
    this.restsUntil = now + rest
  }
}
