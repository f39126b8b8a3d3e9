/**
 * The deadlines of all open requests. They share one timer, which is cheaper than a timer per request.
 *
 * An expiry is detected up to 50 ms late, or up to a tenth of the deadline if that is shorter. The timer keeps the
 * process alive while a request is open.
 */

/** An object with a deadline. */
export interface Expiring {
  /** Time from the start to the expiry, in milliseconds. */
  readonly deadline: number
  /** Expiry time by `performance.now()`. */
  readonly dueAt: number
  /** Called after the expiry. Must remove the object from the deadlines. */
  readonly expire: () => void
}

/** Maximum time between two sweeps, in milliseconds. */
const longestStep = 50

const stepFor = ({ deadline }: Expiring): number => Math.max(1, Math.min(longestStep, deadline / 10))

/** If a sweep is at least this late, in milliseconds, the event loop counts as blocked. */
const blockedFor = 100

export class Deadlines {
  readonly #open = new Set<Expiring>()
  #timer: NodeJS.Timeout | null = null
  /** When the next sweep is due, by `performance.now()`. */
  #sweepAt = Infinity
  /** Whether a sweep was late and the sockets have not been read since. */
  #isLookingAgain = false

  add(one: Expiring, now: number): void {
    this.#open.add(one)
    this.#sweepWithin(stepFor(one), now)
    if (this.#open.size === 1) this.#timer?.ref()
  }

  delete(one: Expiring): void {
    if (this.#open.delete(one) && this.#open.size === 0) this.#timer?.unref()
  }

  /** Whether the event loop was just blocked. If so, the arrival time of data read now is unknown. */
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
    // Timers run before sockets are read. After a block, unread answers might have arrived in time.
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
