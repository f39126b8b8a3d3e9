/**
 * What the world does at which time of the wall clock, whether the machine sleeps or not.
 */
import { TimerHeap } from "../engine/time/TimerHeap.ts"

export class Agenda {
  readonly #heap = new TimerHeap()
  #planned = 0

  /** When the next thing is to be done, in milliseconds since the epoch; infinite when there is none. */
  get next(): number {
    return this.#heap.first?.at ?? Number.POSITIVE_INFINITY
  }

  /** Does the next thing. */
  doNext(): void {
    this.#heap.takeFirst()?.fire()
  }

  /** Does something at an instant. */
  at(instant: number, act: () => void): void {
    this.#heap.add({ at: instant, order: this.#planned++, fire: act, cancelled: false })
  }

  /** Does something again and again. */
  every(interval: number, act: () => void, first: number): void {
    this.at(first, () => {
      act()
      this.every(interval, act, first + interval)
    })
  }
}
