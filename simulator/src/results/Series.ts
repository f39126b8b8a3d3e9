/** Counts over time in bounded memory: at most 160 intervals, which get longer as the run continues. */
import { Record } from "effect"
import { dayMillis as day, hour, minute, second } from "../world/LocalTime.ts"
import { Histogram } from "./Histogram.ts"

/** Interval lengths in milliseconds. Each is a multiple of the one before. */
const widths = [
  ...[1, 5, 10, 30].map((count) => count * second),
  ...[1, 5, 10, 30].map((count) => count * minute),
  ...[1, 3, 6, 12].map((count) => count * hour),
  ...[1, 7, 28, 364, 3_640].map((count) => count * day)
]

const most = 160

const noCounts = {
  planned: 0,
  /** Events that offline devices began to store, and events that they uploaded. */
  stored: 0,
  uploaded: 0,
  sent: 0,
  failed: 0,
  republished: 0,
  requests: 0,
  acknowledged: 0,
  retries: 0,
  duplicates: 0
}
export type IntervalCount = keyof typeof noCounts

/** Peaks. When intervals are joined, the highest peak is kept. */
const noPeaks = { backlog: 0, peak_planned: 0, peak_requests: 0 }

export const noNumbers = { ...noCounts, ...noPeaks }
type Numbers = typeof noNumbers

export interface Interval extends Numbers {
  /** Publish latency of the events planned in the interval. */
  readonly publish: Histogram
  /** Duration of requests to receivers, acknowledged or not. */
  readonly answer: Histogram
}

const makeInterval = (backlog: number): Interval => ({
  ...noNumbers,
  backlog,
  publish: new Histogram(),
  answer: new Histogram()
})

const join = (into: Interval, from: Interval): void => {
  for (const name of Record.keys(noCounts)) into[name] += from[name]
  for (const name of Record.keys(noPeaks)) into[name] = Math.max(into[name], from[name])
  into.publish.merge(from.publish)
  into.answer.merge(from.answer)
}

export class Series {
  #step = 0
  #intervals: Array<Interval> = []
  #backlog = 0
  readonly #minutes = { planned: { at: -1, count: 0 }, requests: { at: -1, count: 0 } }

  /** Length of an interval, in milliseconds. */
  get width(): number {
    return widths[this.#step] ?? day
  }

  get intervals(): ReadonlyArray<Interval> {
    return this.#intervals
  }

  /** Returns the interval that contains a time, given in milliseconds since the beginning. */
  at(time: number): Interval {
    while (time >= most * this.width && this.#step + 1 < widths.length) this.#widen()
    const place = Math.max(0, Math.floor(time / this.width))
    while (this.#intervals.length <= place) this.#intervals.push(makeInterval(this.#backlog))
    return this.#intervals[place] ?? makeInterval(this.#backlog)
  }

  count(time: number, name: IntervalCount, by = 1): void {
    this.at(time)[name] += by
  }

  /** Counts one event and updates the peak. Peaks are per minute, however long the intervals are. */
  countPeak(time: number, name: "planned" | "requests"): void {
    const interval = this.at(time)
    interval[name]++
    const inMinute = this.#minutes[name]
    const at = Math.floor(time / minute)
    if (at !== inMinute.at) {
      inMinute.at = at
      inMinute.count = 0
    }
    inMinute.count++
    const peak = name === "planned" ? "peak_planned" : "peak_requests"
    interval[peak] = Math.max(interval[peak], inMinute.count)
  }

  /** Records the number of open deliveries from this time on. */
  open(time: number, count: number): void {
    const interval = this.at(time)
    this.#backlog = count
    interval.backlog = Math.max(interval.backlog, count)
  }

  /** Makes intervals at least this long. */
  widenTo(width: number): void {
    while (this.width < width && this.#step + 1 < widths.length) this.#widen()
  }

  /**
   * Adds another series of the same period. Both counts and peaks are added, because the peaks may have occurred at the
   * same moment.
   */
  merge(other: Series): void {
    other.widenTo(this.width)
    this.widenTo(other.width)
    other.intervals.forEach((from, nth) => {
      const into = this.at(nth * this.width)
      for (const name of Record.keys(noNumbers)) into[name] += from[name]
      into.publish.merge(from.publish)
      into.answer.merge(from.answer)
    })
  }

  #widen(): void {
    const before = this.width
    this.#step++
    const factor = Math.round(this.width / before)
    this.#intervals = Array.from({ length: Math.ceil(this.#intervals.length / factor) }, (_, at) => {
      const joined = makeInterval(0)
      for (const interval of this.#intervals.slice(at * factor, (at + 1) * factor)) join(joined, interval)
      return joined
    })
  }
}
