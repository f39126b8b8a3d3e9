/**
 * How long a transaction waits for more calls to share it.
 *
 * Events that come one by one, hundreds a second, would each have a transaction and a sync of their own: most of what they
 * cost. While calls come that quickly, each transaction waits for about four more, and never longer than `longest`. Calls
 * that come seldom do not wait, and neither do those that come so quickly that they find each other anyway.
 *
 * A caller that waits for each answer before its next call gains nothing: then no call comes in the second half of a wait.
 * After three such waits in a row there are none for a while.
 *
 * Plain data: nothing here waits. All times are in milliseconds.
 */

/** The longest wait. */
export const longest = 10

/** For how many more calls a transaction waits. */
const expectedCalls = 4

/** Calls that come further apart than this, on average, do not wait: too few would share a transaction. */
export const sparse = 5

/** A wait that would be shorter than this is none: timers are no finer, and a commit takes as long. */
const shortest = 2

/** How far apart calls are at least taken to be after a pause. */
const pause = 4 * sparse

/** How much one arrival counts in the average. */
const weight = 1 / 8

/** After this many waits in vain in a row there are none for `rest`. */
export const patience = 3
export const rest = 1_000

export class Linger {
  /** The time from one call to the next, averaged. */
  private gap = pause
  private arrivedAt = Number.NEGATIVE_INFINITY
  private since = pause
  private emptyWaits = 0
  private restsUntil = Number.NEGATIVE_INFINITY

  /** Calls have come in. */
  arrived(count: number, now: number): void {
    this.since = Math.max(0, now - this.arrivedAt)
    this.arrivedAt = now
    this.gap += (Math.min(pause, this.since / count) - this.gap) * weight
  }

  /** How long their transaction should wait for more. */
  wait(now: number): number {
    // Those of one moment come together: that says nothing about the next.
    if (this.since === 0 || this.gap > sparse || now < this.restsUntil) return 0
    const wait = Math.min(longest, Math.round(expectedCalls * this.gap))
    return wait < shortest ? 0 : wait
  }

  /** A wait is over. `cameLate`: a call came in its second half. */
  waited(cameLate: boolean, now: number): void {
    this.emptyWaits = cameLate ? 0 : this.emptyWaits + 1
    if (this.emptyWaits < patience) return
    this.emptyWaits = 0
    this.restsUntil = now + rest
  }
}
