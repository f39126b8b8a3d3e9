/**
 * What the last minute was like, from answers that count since the start of the process.
 */

/** @typedef {import("./api.js").Figures} Figures */

const span = 60_000

/** Answers of the last minute, the oldest first. */
export class LastMinute {
  /** @type {Figures[]} */
  answers = []

  /** @param {Figures} figures */
  add(figures) {
    const last = this.answers.at(-1)
    // A process that started anew counts from nothing, and so does another one behind the same address.
    if (last !== undefined && figures.process.events_accepted < last.process.events_accepted) this.answers = []
    const oldest = Date.parse(figures.at) - span
    this.answers = [...this.answers.filter(({ at }) => Date.parse(at) >= oldest), figures]
  }

  /** @returns {{ first: Figures, last: Figures, seconds: number } | null} */
  get ends() {
    const [first] = this.answers
    const last = this.answers.at(-1)
    if (first === undefined || last === undefined || first === last) return null
    return { first, last, seconds: (Date.parse(last.at) - Date.parse(first.at)) / 1_000 }
  }

  /**
   * How many a second, over all and from answer to answer.
   * @param {(figures: Figures) => number} count
   */
  rate(count) {
    const { ends } = this
    const steps = this.answers.slice(1).map((later, index) => {
      const earlier = this.answers[index] ?? later
      const seconds = (Date.parse(later.at) - Date.parse(earlier.at)) / 1_000
      return seconds <= 0 ? 0 : (count(later) - count(earlier)) / seconds
    })
    return { all: ends === null ? null : (count(ends.last) - count(ends.first)) / ends.seconds, steps }
  }

  /**
   * How long, in milliseconds, this share of the acknowledged attempts took at most; null when there were none.
   * @param {number} share
   */
  latency(share) {
    const { ends } = this
    if (ends === null) return null
    const before = ends.first.process.acknowledgement_latency
    const now = ends.last.process.acknowledgement_latency
    const total = now.count - before.count
    if (total <= 0) return null
    let [lower, below] = [0, 0]
    for (const [index, { count, le_ms }] of now.buckets.entries()) {
      const here = count - (before.buckets[index]?.count ?? 0)
      if (here >= share * total && here > below) {
        return lower + ((le_ms - lower) * (share * total - below)) / (here - below)
      }
      ;[lower, below] = [le_ms, here]
    }
    return lower
  }

  /** Attempts of the last minute that were not acknowledged, by outcome, the most frequent first. */
  get failures() {
    const { ends } = this
    if (ends === null) return []
    const { first, last } = ends
    return Object.entries(last.process.attempts)
      .map(([outcome, count]) => ({ outcome, count: count - (first.process.attempts[outcome] ?? 0) }))
      .filter(({ count, outcome }) => count > 0 && outcome !== "acknowledged")
      .toSorted((a, b) => b.count - a.count)
  }
}
