/**
 * Lets requests that are all but sent go on together: each waits with its last byte until all are there, and then every
 * last byte is written in one turn of the event loop. What is left to chance is the receiver's part.
 */

/** How long the others are waited for once one is there, in milliseconds: a receiver may not accept all of them. */
const patience = 500

/** How long all of them stand still before they go on, in milliseconds: until the receiver has taken in what was sent. */
const lull = 8

/** The longest that a request is held, in milliseconds. */
export const longestHold = patience + lull

export interface Barrier {
  /** Says that a request is there, and how it goes on; they go on in the order of their places. */
  readonly arrive: (place: number, goOn: () => void) => void
}

/** A barrier for this many requests. One that comes after the others have gone goes on at once. */
export const makeBarrier = (count: number): Barrier => {
  const waiting = new Map<number, () => void>()
  let open = false
  let timer: NodeJS.Timeout | undefined
  const release = (): void => {
    open = true
    const inOrder = [...waiting].toSorted(([a], [b]) => a - b)
    for (const [, goOn] of inOrder) goOn()
  }
  const releaseIn = (milliseconds: number): void => {
    clearTimeout(timer)
    timer = setTimeout(release, milliseconds)
  }
  return {
    arrive: (place, goOn) => {
      if (open) return goOn()
      waiting.set(place, goOn)
      if (waiting.size === count) releaseIn(lull)
      else if (waiting.size === 1) releaseIn(patience)
    }
  }
}
