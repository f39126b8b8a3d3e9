/**
 * What happened over time, in memory that does not grow: a hundred intervals or so, which become longer as time goes on.
 */
import { Histogram } from "./Histogram.ts"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Lengths of an interval; each is a whole multiple of the one before. */
const widths = [
  ...[1, 5, 10, 30].map((count) => count * second),
  ...[1, 5, 10, 30].map((count) => count * minute),
  ...[1, 3, 6, 12].map((count) => count * hour),
  ...[1, 7, 28, 364, 3_640].map((count) => count * day)
]

/** The most intervals that are kept. */
const most = 160

/** One interval. */
export interface Interval {
  /** Events that the plan has in it, by their intended times. */
  planned: number
  /** Events that were first sent in it. */
  sent: number
  /** Requests to receivers that ended in it. */
  attempts: number
  acknowledged: number
  /** Requests that receivers had processed before. */
  duplicates: number
  /** The most deliveries that were open (accepted and not settled) at one time. */
  backlog: number
  /** How long requests to receivers took, acknowledged or not. */
  readonly answer: Histogram
}

const makeInterval = (backlog: number): Interval => ({
  planned: 0,
  sent: 0,
  attempts: 0,
  acknowledged: 0,
  duplicates: 0,
  backlog,
  answer: new Histogram()
})

const joined = (intervals: ReadonlyArray<Interval>): Interval => {
  const sum = makeInterval(0)
  for (const interval of intervals) {
    sum.planned += interval.planned
    sum.sent += interval.sent
    sum.attempts += interval.attempts
    sum.acknowledged += interval.acknowledged
    sum.duplicates += interval.duplicates
    sum.backlog = Math.max(sum.backlog, interval.backlog)
    sum.answer.merge(interval.answer)
  }
  return sum
}

export class Series {
  #step = 0
  #intervals: Array<Interval> = []
  #backlog = 0

  /** How long an interval is now, in milliseconds. */
  get width(): number {
    return widths[this.#step] ?? day
  }

  get intervals(): ReadonlyArray<Interval> {
    return this.#intervals
  }

  /** The interval that a time, in milliseconds since the beginning, is in. */
  at(time: number): Interval {
    let place = Math.max(0, Math.floor(time / this.width))
    while (place >= most) {
      this.#widen()
      place = Math.max(0, Math.floor(time / this.width))
    }
    while (this.#intervals.length <= place) this.#intervals.push(makeInterval(this.#backlog))
    return this.#intervals[place] ?? makeInterval(this.#backlog)
  }

  /** So many deliveries are open from now on. */
  open(time: number, count: number): void {
    const interval = this.at(time)
    this.#backlog = count
    interval.backlog = Math.max(interval.backlog, count)
  }

  #widen(): void {
    const before = this.width
    if (this.#step + 1 >= widths.length) return
    this.#step++
    const factor = Math.round(this.width / before)
    const old = this.#intervals
    this.#intervals = []
    for (let at = 0; at < old.length; at += factor) this.#intervals.push(joined(old.slice(at, at + factor)))
  }
}
