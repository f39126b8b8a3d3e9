/**
 * A priority queue of waiting deliveries, ordered by due time and then by age.
 *
 * Each item stores its index, so that any item can be removed in O(log n) when its delivery is claimed or cancelled.
 */

/** An item of a heap. Only the heap changes `heap_index`. */
export interface Waiting {
  readonly id: number
  readonly standing: { readonly due_at: number | null }
  heap_index: number
}

const goesBefore = (a: Waiting, b: Waiting): boolean => {
  const left = a.standing.due_at ?? Infinity
  const right = b.standing.due_at ?? Infinity
  return left === right ? a.id < b.id : left < right
}

export class DueHeap<A extends Waiting> {
  readonly #items: Array<A> = []

  get size(): number {
    return this.#items.length
  }

  /** All items, in no particular order. */
  get items(): ReadonlyArray<A> {
    return this.#items
  }

  /** The next item. */
  get first(): A | undefined {
    return this.#items[0]
  }

  /** Adds an item that is not in a heap. */
  add(item: A): void {
    this.#items.push(item)
    this.#rise(item, this.#items.length - 1)
  }

  /** Removes an item. Its due time must not have changed since it was added. */
  remove(item: A): void {
    const last = this.#items.pop()
    if (last === undefined || last === item) return
    this.#rise(last, item.heap_index)
    this.#sink(last, last.heap_index)
  }

  /** Places an item at a free index or moves it up from there. */
  #rise(item: A, free: number): void {
    let at = free
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = this.#items[parentAt]
      if (parent === undefined || !goesBefore(item, parent)) break
      this.#put(parent, at)
      at = parentAt
    }
    this.#put(item, at)
  }

  /** Places an item at a free index or moves it down from there. */
  #sink(item: A, free: number): void {
    let at = free
    for (;;) {
      const left = this.#items[2 * at + 1]
      const right = this.#items[2 * at + 2]
      const child = left !== undefined && right !== undefined && goesBefore(right, left) ? right : left
      if (child === undefined || !goesBefore(child, item)) break
      const childAt = child.heap_index
      this.#put(child, at)
      at = childAt
    }
    this.#put(item, at)
  }

  #put(item: A, at: number): void {
    this.#items[at] = item
    item.heap_index = at
  }
}
