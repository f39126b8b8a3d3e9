/**
 * A histogram of durations in bounded memory, like HDR histograms: exact below 128 ms, and within 1.6 % above.
 */

/** Returns the bucket of a whole number of milliseconds below 2^32. */
const bucketOf = (millis: number): number => {
  const shift = Math.max(0, 25 - Math.clz32(millis))
  return shift * 64 + (millis >>> shift)
}

/** Returns the largest number of milliseconds in a bucket. */
const topOf = (bucket: number): number => {
  const shift = Math.max(0, Math.floor(bucket / 64) - 1)
  return (bucket - shift * 64 + 1) * 2 ** shift - 1
}

export class Histogram {
  /** Counts by bucket. The array grows when needed. */
  #buckets = new Uint32Array(64)
  #count = 0
  #sum = 0
  #max = 0

  /** Counts a duration in milliseconds. Negative durations count as 0. */
  add(millis: number): void {
    const whole = Math.max(0, Math.min(Math.floor(millis), 0xffff_ffff))
    this.#grow(bucketOf(whole), 1)
    this.#sum += whole
    this.#max = Math.max(this.#max, whole)
  }

  /**
   * Returns `sum max bucket:count ...`, the form in reports. In this form, histograms of several generators can be
   * merged exactly.
   */
  toText(): string {
    const counts = [...this.#buckets.entries()].flatMap(([bucket, count]) => (count === 0 ? [] : `${bucket}:${count}`))
    return [this.#sum, this.#max, ...counts].join(" ")
  }

  /** Reads the result of `toText`; null for anything else. */
  static fromText(text: string): Histogram | null {
    const match = /^(\d{1,16}) (\d{1,10})((?: \d{1,4}:\d{1,10})*)$/.exec(text)
    if (match === null) return null
    const read = new Histogram()
    for (const [, bucket, count] of (match[3] ?? "").matchAll(/ (\d+):(\d+)/g))
      read.#grow(Number(bucket), Number(count))
    read.#sum = Number(match[1])
    read.#max = Number(match[2])
    return read
  }

  /** Adds the counts of another histogram. */
  merge(other: Histogram): void {
    if (other.#count === 0) return
    other.#buckets.forEach((count, bucket) => {
      if (count > 0) this.#grow(bucket, count)
    })
    this.#sum += other.#sum
    this.#max = Math.max(this.#max, other.#max)
  }

  get count(): number {
    return this.#count
  }

  /** Mean of the durations, in milliseconds; 0 if there are none. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count
  }

  get max(): number {
    return this.#max
  }

  /**
   * Returns the quantile of the durations, in milliseconds; 0 if there are none. With `total`, returns the lowest possible
   * quantile once there are `total` durations.
   */
  quantile(share: number, total = this.#count): number {
    let left = Math.ceil(total * share) - (total - this.#count)
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count
      if (left <= 0) return Math.min(topOf(bucket), this.#max)
    }
    return this.#max
  }

  /**
   * Returns the share of durations that are at most `millis`, to the precision of the buckets; 0 if there are none. With
   * `total`, returns the highest possible share once there are `total` durations.
   */
  shareUpTo(millis: number, total = this.#count): number {
    let count = total - this.#count
    for (let bucket = Math.min(bucketOf(millis), this.#buckets.length - 1); bucket >= 0; bucket--)
      count += this.#buckets[bucket] ?? 0
    return total === 0 ? 0 : count / total
  }

  #grow(bucket: number, count: number): void {
    if (bucket >= this.#buckets.length) {
      const larger = new Uint32Array(Math.max(bucket + 1, 2 * this.#buckets.length))
      larger.set(this.#buckets)
      this.#buckets = larger
    }
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + count
    this.#count += count
  }
}
