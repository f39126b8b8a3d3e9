/**
 * The deadlines of all open requests, watched by one timer: setting and clearing a timer for each request would cost more.
 *
 * A deadline is noticed up to 50 ms late, a short one up to a tenth of its length. The timer keeps the process alive while a
 * request is open.
 */

/** What has a deadline. */
export interface Expiring {
  /** In milliseconds. */
  readonly deadline: number
  /** When the deadline is over, by `performance.now()`. */
  readonly dueAt: number
  /** Called once the deadline is over. Must delete it from the deadlines. */
  readonly expire: () => void
}

/** The longest time between two sweeps, in milliseconds. */
const longestStep = 50

const stepFor = ({ deadline }: Expiring): number => Math.max(1, Math.min(longestStep, deadline / 10))

/** How late, in milliseconds, a sweep must be for the event loop to count as blocked. */
const blockedFor = 100

export class Deadlines {
  readonly #open = new Set<Expiring>()
  #timer: NodeJS.Timeout | null = null
  /** When the next sweep is due, by `performance.now()`. */
  #sweepAt = Infinity
  /** Whether a sweep was late and what has arrived in the meantime is still to be read. */
  #isLookingAgain = false

  add(one: Expiring, now: number): void {
    this.#open.add(one)
    this.#sweepWithin(stepFor(one), now)
    if (this.#open.size === 1) this.#timer?.ref()
  }

  delete(one: Expiring): void {
    if (this.#open.delete(one) && this.#open.size === 0) this.#timer?.unref()
  }

  /** Whether the event loop was blocked until just now, so that the arrival time of what is read now is unknown. */
  isCatchingUp(now: number): boolean {
    return this.#isLookingAgain || now - this.#sweepAt >= blockedFor
  }

  #sweepWithin(step: number, now: number): void {
    const at = now + step
    if (this.#timer !== null) {
      if (this.#sweepAt <= at) return
      clearTimeout(this.#timer)
    }
    this.#sweepAt = at
    this.#timer = setTimeout(() => this.#sweep(), step)
  }

  #sweep(): void {
    const now = performance.now()
    // Timers run before sockets are read. After a block, answers may be there that nobody has read.
    const isLate = this.isCatchingUp(now)
    this.#timer = null
    this.#sweepAt = Infinity
    const due: Array<Expiring> = []
    let step = longestStep
    for (const one of this.#open) {
      if (one.dueAt <= now) due.push(one)
      else step = Math.min(step, stepFor(one))
    }
    if (this.#open.size > 0) this.#sweepWithin(step, now)
    if (isLate && due.length > 0) {
      this.#isLookingAgain = true
      setImmediate(() => {
        this.#isLookingAgain = false
        this.#expire(due)
      })
    } else this.#expire(due)
  }

  #expire(due: ReadonlyArray<Expiring>): void {
    for (const one of due) if (this.#open.has(one)) one.expire()
  }
}
