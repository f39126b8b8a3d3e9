/**
 * How many integrations would take more from the store, by the limit from which on they would: asked after each batch of
 * outcomes, and so kept as counts instead of looked for.
 */
export class Appetites {
  private readonly counts: Int32Array

  /** `most` is the highest limit there is. */
  constructor(most: number) {
    this.counts = new Int32Array(most + 1)
  }

  /** An integration that took more from one limit on does so from another. 0 is for none. */
  move(from: number, to: number): void {
    if (from === to) return
    if (from > 0) this.counts[from] = (this.counts[from] ?? 0) - 1
    if (to > 0) this.counts[to] = (this.counts[to] ?? 0) + 1
  }

  /** Whether any would take more when all have this limit. */
  anyWithin(limit: number): boolean {
    const end = Math.min(limit, this.counts.length - 1)
    for (let from = 1; from <= end; from++) if ((this.counts[from] ?? 0) > 0) return true
    return false
  }
}
