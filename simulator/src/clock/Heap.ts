/** A binary heap. The first item in the given order is on top. */
export class Heap<A> {
  readonly #items: Array<A> = []
  readonly #isBefore: (a: A, b: A) => boolean

  constructor(isBefore: (a: A, b: A) => boolean) {
    this.#isBefore = isBefore
  }

  get top(): A | undefined {
    return this.#items[0]
  }

  push(item: A): void {
    let place = this.#items.length
    this.#items.push(item)
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = this.#items[above]
      if (parent === undefined || !this.#isBefore(item, parent)) break
      this.#items[place] = parent
      place = above
    }
    this.#items[place] = item
  }

  pop(): A | undefined {
    const [top] = this.#items
    const last = this.#items.pop()
    if (last === undefined || this.#items.length === 0) return top
    this.#items[0] = last
    this.sinkTop()
    return top
  }

  /** Moves the top item down to its new place after it was changed. */
  sinkTop(): void {
    const item = this.#items[0]
    if (item === undefined) return
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      let first = this.#items[below]
      if (first === undefined) break
      const right = this.#items[below + 1]
      if (right !== undefined && this.#isBefore(right, first)) {
        first = right
        below++
      }
      if (!this.#isBefore(first, item)) break
      this.#items[place] = first
      place = below
    }
    this.#items[place] = item
  }
}
