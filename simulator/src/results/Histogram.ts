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
  /** Counts by bucket, grown as they are needed. */
  #buckets = new Uint32Array(64)
  #count = 0
  #sum = 0
  #max = 0

  /** Counts a duration, in milliseconds; negative ones as none. */
  add(millis: number): void {
    const whole = Math.max(0, Math.min(Math.floor(millis), 0xffff_ffff))
    this.#grow(bucketOf(whole), 1)
    this.#sum += whole
    this.#max = Math.max(this.#max, whole)
  }

  /** `sum max bucket:count ...`, as reports carry it, so that reports of several generators merge exactly. */
  toText(): string {
    const counts = [...this.#buckets.entries()].flatMap(([bucket, count]) => (count === 0 ? [] : `${bucket}:${count}`))
    return [this.#sum, this.#max, ...counts].join(" ")
  }

  /** Reads what `toText` wrote; null for anything else. */
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

  /** Counts what another one has counted. */
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

  /** The mean of what was added, in milliseconds; 0 when nothing was. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count
  }

  get max(): number {
    return this.#max
  }

  /** The duration that a share of all durations does not exceed, in milliseconds; 0 when there are none. */
  quantile(share: number): number {
    let left = Math.ceil(this.#count * share)
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count
      if (left <= 0) return Math.min(topOf(bucket), this.#max)
    }
    return this.#max
  }

  /** The share of durations up to a number of milliseconds, to the precision of the buckets; 0 when there are none. */
  shareUpTo(millis: number): number {
    let count = 0
    for (let bucket = Math.min(bucketOf(millis), this.#buckets.length - 1); bucket >= 0; bucket--)
      count += this.#buckets[bucket] ?? 0
    return this.#count === 0 ? 0 : count / this.#count
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
