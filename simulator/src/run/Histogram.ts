/**
 * Counts of durations in memory that does not grow: exact below 128 ms, to 1.6 % above (as HDR histograms do it).
 */

/** Which bucket a number of whole milliseconds below 2^32 falls into. */
const bucketOf = (millis: number): number => {
  const shift = Math.max(0, 25 - Math.clz32(millis))
  return shift * 64 + (millis >>> shift)
}

/** The largest number of milliseconds that falls into a bucket. */
const topOf = (bucket: number): number => {
  const shift = Math.max(0, Math.floor(bucket / 64) - 1)
  return (bucket - shift * 64 + 1) * 2 ** shift - 1
}

export class Histogram {
  readonly #buckets: Array<number> = []
  #count = 0
  #max = 0

  /** Counts a duration, in milliseconds; negative ones as none. */
  add(millis: number): void {
    const whole = Math.max(0, Math.min(Math.floor(millis), 0xffff_ffff))
    const bucket = bucketOf(whole)
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
    this.#count++
    this.#max = Math.max(this.#max, whole)
  }

  get count(): number {
    return this.#count
  }

  get max(): number {
    return this.#max
  }

  /** The duration that a share of all durations does not exceed, in milliseconds; 0 when there are none. */
  quantile(share: number): number {
    let left = Math.ceil(this.#count * share)
    for (const [bucket, count = 0] of this.#buckets.entries()) {
      left -= count
      if (left <= 0) return Math.min(topOf(bucket), this.#max)
    }
    return this.#max
  }
}
