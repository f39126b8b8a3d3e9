/**
 * Tests whether points in time are a Poisson process, with a known or an unknown intensity.
 *
 * Both tests are needed: the first checks the shape of a day, the second checks the spacing for any shape. They apply
 * to the leaders of groups, not to followers. Timestamps must not be rounded coarsely, and the first test needs the day
 * factor.
 */

/**
 * Time rescaling. `reached` is the cumulative intensity at each point, in ascending order. In these units, the gaps of
 * a Poisson process are exponential with mean 1, and the returned numbers are uniform on [0, 1].
 */
export const rescaledGaps = (reached: ReadonlyArray<number>): ReadonlyArray<number> =>
  reached.map((value, index) => 1 - Math.exp(-(value - (reached[index - 1] ?? 0))))

/** Durbin's transformation as modified by Lewis: turns `k` gaps that sum to 1 into `k` - 1 uniform numbers, sorted. */
const lewisOf = (gaps: ReadonlyArray<number>): ReadonlyArray<number> => {
  const sum = gaps.reduce((total, gap) => total + gap, 0)
  if (sum <= 0) return gaps.slice(1).map(() => 1)
  const sorted = gaps.map((gap) => gap / sum).toSorted((a, b) => a - b)
  const count = sorted.length
  const numbers: Array<number> = []
  let reached = 0
  for (let index = 0; index < count - 1; index++) {
    reached += (count - index) * ((sorted[index] ?? 0) - (sorted[index - 1] ?? 0))
    numbers.push(Math.min(1, reached))
  }
  return numbers
}

interface Spacing {
  /** Numbers that are uniform for a Poisson process, near 1 for points that are too even, and near 0 for bursts. */
  readonly lewis: ReadonlyArray<number>
  /** Positions of points within their windows, which are uniform for a Poisson process. */
  readonly conditional: ReadonlyArray<number>
}

/**
 * Test by Kim and Whitt: within a short window, the intensity is almost constant, so the points are uniform given their
 * number. `times` must be in ascending order. `window` is the length of a window in the same unit. Windows with fewer
 * than `least` points are left out.
 */
export const spacing = (times: ReadonlyArray<number>, window: number, least = 3): Spacing => {
  const lewis: Array<number> = []
  const conditional: Array<number> = []
  let index = 0
  while (index < times.length) {
    const start = Math.floor((times[index] ?? 0) / window) * window
    const points: Array<number> = []
    for (; index < times.length && (times[index] ?? 0) < start + window; index++) points.push(times[index] ?? 0)
    if (points.length < least) continue
    for (const point of points) conditional.push((point - start) / window)
    const ends = [start, ...points, start + window]
    for (const value of lewisOf(ends.slice(1).map((end, place) => end - (ends[place] ?? 0)))) lewis.push(value)
  }
  return { lewis, conditional }
}
