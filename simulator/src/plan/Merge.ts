/**
 * Merges ordered sequences into one. Only one element of each sequence is in memory.
 *
 * A sequence states the earliest possible time of its elements. No element is computed before the merge reaches that
 * time.
 */
import { Heap } from "../clock/Heap.ts"

/** A sequence in order of time, and the sequence that follows it. */
export interface Source<A> {
  /** Earliest possible time of the elements. */
  readonly from: number
  /**
   * Not negative. At equal times the lower rank comes first, so that the order does not depend on where the merge
   * begins.
   */
  readonly rank: number
  readonly open: () => Iterator<A>
  /** Returns the source that follows; null after the last. The source that follows must not begin earlier. */
  readonly next: () => Source<A> | null
}

/**
 * A source that has not begun, or a source whose next element is known. A source that has not begun sorts before all
 * elements of the same time.
 */
interface Cursor<A> {
  time: number
  readonly rank: number
  readonly source: Source<A> | null
  readonly iterator: Iterator<A> | null
  element: A | null
}

/** Yields the elements of all sources in order of time. */
export function* merge<A>(sources: Iterable<Source<A>>, timeOf: (element: A) => number): IterableIterator<A> {
  const heap = new Heap<Cursor<A>>((a, b) => a.time < b.time || (a.time === b.time && a.rank < b.rank))
  const add = (source: Source<A>) => {
    heap.push({ time: source.from, rank: -1, source, iterator: null, element: null })
  }
  for (const source of sources) add(source)
  for (let top = heap.top; top !== undefined; top = heap.top) {
    const { element, iterator, source } = top
    if (source !== null) {
      heap.pop()
      const opened = source.open()
      const first = opened.next()
      if (first.done !== true) {
        const { value } = first
        heap.push({ time: timeOf(value), rank: source.rank, source: null, iterator: opened, element: value })
      }
      const next = source.next()
      if (next !== null) add(next)
      continue
    }
    if (element !== null) yield element
    const step = iterator?.next()
    if (step === undefined || step.done === true) {
      heap.pop()
    } else {
      top.element = step.value
      top.time = timeOf(step.value)
      heap.sinkTop()
    }
  }
}
