/**
 * How long the suite's own process stood still: because something else in it ran on, as a receiver in the same process
 * may, or because the machine had no time for it. An answer that comes then is seen later than it came.
 */

/** How often it is looked whether time goes on as it should, and how late a look may be, in milliseconds. */
const tick = 50
const mostLate = 50

interface Stalls {
  /** For how many milliseconds the process has stood still since this began. */
  readonly total: () => number
  readonly stop: () => void
}

/** Watches the process until it is stopped. `now` is in milliseconds, by a clock that never jumps. */
export const watchStalls = (now: () => number): Stalls => {
  let last = now()
  let total = 0
  const look = (): void => {
    const at = now()
    const late = at - last - tick
    last = at
    if (late > mostLate) total += late
  }
  const timer = setInterval(look, tick)
  return {
    total: () => {
      look()
      return Math.round(total)
    },
    stop: () => clearInterval(timer)
  }
}
