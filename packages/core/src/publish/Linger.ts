/**
 * Decides how long a transaction waits for more publish calls (linger).
 *
 * With hundreds of single events per second, a separate transaction and disk sync for each would be most of their cost. At
 * such rates each transaction waits for about four more calls, and at most `longest`. Rare calls do not wait. Neither do very
 * frequent ones, which share transactions anyway.
 *
 * A caller that waits for each answer before its next call gains nothing from lingering: no call arrives in the second half
 * of the wait. After three such waits in a row, lingering pauses.
 *
 * Plain data: nothing here waits. All times are in milliseconds.
 */

/** The longest wait. */
export const longest = 10

/** The number of further calls that a transaction waits for. */
const expectedCalls = 4

/** Largest average gap between calls for which a transaction waits: with a larger gap too few calls would share it. */
export const sparse = 5

/** Shortest wait; a shorter one is skipped. Timers are no more precise, and a commit takes as long. */
const shortest = 2

/** The largest gap that enters the average. */
const pause = 4 * sparse

/** Weight of one arrival in the average. */
const weight = 1 / 8

/** After this many useless waits in a row, lingering pauses for `rest`. */
export const patience = 3
export const rest = 1_000

export class Linger {
  /** Average time between two calls. */
  private gap = pause
  private arrivedAt = Number.NEGATIVE_INFINITY
  private since = pause
  private emptyWaits = 0
  private restsUntil = Number.NEGATIVE_INFINITY

  /** Notes the arrival of calls. */
  arrived(count: number, now: number): void {
    this.since = Math.max(0, now - this.arrivedAt)
    this.arrivedAt = now
    this.gap += (Math.min(pause, this.since / count) - this.gap) * weight
  }

  /** How long the transaction of these calls should wait for more. */
  wait(now: number): number {
    // Calls of the same millisecond are one burst and say nothing about the rate.
    if (this.since === 0 || this.gap > sparse || now < this.restsUntil) return 0
    const wait = Math.min(longest, Math.round(expectedCalls * this.gap))
    return wait < shortest ? 0 : wait
  }

  /** Notes the end of a wait. `cameLate`: whether a call arrived in its second half. */
  waited(cameLate: boolean, now: number): void {
    this.emptyWaits = cameLate ? 0 : this.emptyWaits + 1
    if (this.emptyWaits < patience) return
    this.emptyWaits = 0
    this.restsUntil = now + rest
  }
}
