/**
 * Timers by the time they are due; of two that are due together, the one that was set first.
 */

export interface Timer {
  readonly at: number
  readonly order: number
  readonly fire: () => void
  cancelled: boolean
}

const before = (a: Timer, b: Timer): boolean => (a.at === b.at ? a.order < b.order : a.at < b.at)

export class TimerHeap {
  readonly #timers: Array<Timer> = []

  get first(): Timer | undefined {
    return this.#timers[0]
  }

  add(timer: Timer): void {
    let at = this.#timers.length
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = this.#timers[above]
      if (parent === undefined || !before(timer, parent)) break
      this.#timers[at] = parent
      at = above
    }
    this.#timers[at] = timer
  }

  takeFirst(): Timer | undefined {
    const first = this.#timers[0]
    const last = this.#timers.pop()
    if (last === undefined || last === first) return first
    let at = 0
    for (;;) {
      const left = this.#timers[2 * at + 1]
      const right = this.#timers[2 * at + 2]
      const isRight = left !== undefined && right !== undefined && before(right, left)
      const child = isRight ? right : left
      if (child === undefined || !before(child, last)) break
      this.#timers[at] = child
      at = 2 * at + (isRight ? 2 : 1)
    }
    this.#timers[at] = last
    return first
  }
}
