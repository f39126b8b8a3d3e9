/**
 * Merges ordered sequences into one, holding one element of each.
 *
 * A sequence says from when on it can have elements, and nothing of it is computed before the merge gets there.
 */

/** A sequence in order of time, and what comes after it. */
export interface Source<A> {
  /** None of its elements is earlier. */
  readonly from: number
  /** Not negative. Decides between equal times, the lower first, so that the order does not depend on the beginning. */
  readonly rank: number
  readonly open: () => Iterator<A>
  /** The source that follows; it does not begin earlier. Null after the last. */
  readonly next: () => Source<A> | null
}

/** A place in the merge. */
type Cursor<A> = Unopened<A> | Open<A>

interface Unopened<A> {
  readonly _tag: "Unopened"
  readonly time: number
  /** Before all elements of the same time. */
  readonly rank: -1
  readonly source: Source<A>
}

interface Open<A> {
  readonly _tag: "Open"
  time: number
  readonly rank: number
  readonly iterator: Iterator<A>
  element: A
}

const isBefore = (a: Cursor<unknown>, b: Cursor<unknown>): boolean =>
  a.time < b.time || (a.time === b.time && a.rank < b.rank)

/** A binary heap with the earliest cursor on top. */
class Heap<A> {
  readonly #items: Array<Cursor<A>> = []

  get top(): Cursor<A> | undefined {
    return this.#items[0]
  }

  push(cursor: Cursor<A>): void {
    let place = this.#items.length
    this.#items.push(cursor)
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = this.#items[above]
      if (parent === undefined || !isBefore(cursor, parent)) break
      this.#items[place] = parent
      place = above
    }
    this.#items[place] = cursor
  }

  removeTop(): void {
    const last = this.#items.pop()
    if (last === undefined || this.#items.length === 0) return
    this.#items[0] = last
    this.sinkTop()
  }

  /** Puts the top where it belongs after its time has grown. */
  sinkTop(): void {
    const cursor = this.#items[0]
    if (cursor === undefined) return
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      let smaller = this.#items[below]
      if (smaller === undefined) break
      const right = this.#items[below + 1]
      if (right !== undefined && isBefore(right, smaller)) {
        smaller = right
        below++
      }
      if (!isBefore(smaller, cursor)) break
      this.#items[place] = smaller
      place = below
    }
    this.#items[place] = cursor
  }
}

const unopened = <A>(source: Source<A>): Unopened<A> => ({ _tag: "Unopened", time: source.from, rank: -1, source })

/** All elements of all sources in order of time. */
export function* merge<A>(sources: Iterable<Source<A>>, timeOf: (element: A) => number): IterableIterator<A> {
  const heap = new Heap<A>()
  for (const source of sources) heap.push(unopened(source))
  for (let top = heap.top; top !== undefined; top = heap.top) {
    if (top._tag === "Unopened") {
      const { source } = top
      heap.removeTop()
      const iterator = source.open()
      const first = iterator.next()
      if (first.done !== true) {
        const element = first.value
        heap.push({ _tag: "Open", time: timeOf(element), rank: source.rank, iterator, element })
      }
      const next = source.next()
      if (next !== null) heap.push(unopened(next))
      continue
    }
    yield top.element
    const step = top.iterator.next()
    if (step.done === true) {
      heap.removeTop()
    } else {
      top.element = step.value
      top.time = timeOf(step.value)
      heap.sinkTop()
    }
  }
}
