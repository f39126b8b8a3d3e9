/**
 * Axes: from values to places between 0 and 100, and which values to name.
 */

export interface Scale {
  /** Percent from the bottom or the left. */
  readonly of: (value: number) => number
  readonly marks: ReadonlyArray<number>
}

/** From 0 to something round above the largest value. */
export const linear = (most: number): Scale => {
  const rough = Math.max(most, 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? power)
  const top = Math.max(1, Math.ceil(Math.max(most, 1) / step)) * step
  return {
    of: (value) => (value / top) * 100,
    marks: Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step)
  }
}

/** Powers of ten between two values, both above 0. */
export const logarithmic = (least: number, most: number): Scale => {
  const low = Math.floor(Math.log10(least))
  const high = Math.max(low + 1, Math.ceil(Math.log10(most)))
  return {
    of: (value) => ((Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)) * 100,
    marks: Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at))
  }
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const steps = [
  ...[1, 2, 5, 10, 20, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 20, 30].map((count) => count * minute),
  ...[1, 2, 3, 4, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 7, 14, 30, 60, 120].map((count) => count * day)
]

/** Into how many steps an axis is divided at most. */
const mostSteps = 6.5

/** Round times for an axis of a length that begins at an offset from midnight: seven of them or fewer. */
export const timeMarks = (length: number, offset: number): ReadonlyArray<number> => {
  const step = steps.find((size) => length / size <= mostSteps) ?? Math.ceil(length / mostSteps / day) * day
  const first = Math.ceil(offset / step) * step - offset
  return Array.from({ length: Math.max(0, Math.floor((length - first) / step) + 1) }, (_, at) => first + at * step)
}
