/** Estimators for the fit. Results are rounded, so that scenario files are easy to read. */
import { weekdayOf } from "../world/CalendarDate.ts"
import type { Week } from "../traffic/Parameter.ts"
import { clockText, durationText, weekdays } from "../traffic/Parameter.ts"
import { hour, minute } from "../world/LocalTime.ts"

export const mean = (numbers: ReadonlyArray<number>): number =>
  numbers.length === 0 ? 0 : numbers.reduce((sum, x) => sum + x, 0) / numbers.length

export const quantile = (numbers: ReadonlyArray<number>, share: number): number => {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}

/** Estimates the standard deviation of normally distributed numbers from their middle half, ignoring outliers. */
const robustDeviation = (numbers: ReadonlyArray<number>): number =>
  (quantile(numbers, 0.75) - quantile(numbers, 0.25)) / 1.349

export const rounded = (value: number, digits = 3): number => {
  const scale = 10 ** digits
  return Math.round(value * scale) / scale
}

/** Limits a share to the range from 0 to `most`, and rounds it. */
export const share = (value: number, most = 1): number => rounded(Math.max(0, Math.min(most, value)))

/** Robust estimate of a time of day and its spread, in scenario syntax. */
export const clockTime = (hours: ReadonlyArray<number>) => ({
  at: clockText(quantile(hours, 0.5)),
  spread: durationText(Math.max(minute, robustDeviation(hours) * hour))
})

/** Robust estimate of a lognormal duration from durations in milliseconds, in scenario syntax. */
export const lognormalFit = (millis: ReadonlyArray<number>) => ({
  median: durationText(quantile(millis, 0.5)),
  sigma: Math.min(3, rounded(robustDeviation(millis.filter((x) => x > 0).map(Math.log)), 2))
})

/** Returns the mean for each weekday that occurs. */
export const byWeekday = (days: ReadonlyMap<number, number>): Partial<Week> => {
  const groups = Map.groupBy(days, ([day]) => weekdayOf(day))
  const week: { -readonly [Day in keyof Week]?: number } = {}
  for (const [weekday, own] of groups) {
    const name = weekdays[weekday]
    if (name !== undefined) week[name] = mean(own.map(([, value]) => value))
  }
  return week
}

/**
 * Estimates the coefficient of variation of the day factor: how much the counts of one weekday vary beyond chance. For
 * a given mean, `chance` returns the variance expected by chance.
 */
export const dayVariation = (days: ReadonlyMap<number, number>, chance: (mean: number) => number): number => {
  const groups = Map.groupBy(days, ([day]) => weekdayOf(day))
  let [excess, squares] = [0, 0]
  for (const own of groups.values()) {
    if (own.length < 2) continue
    const values = own.map(([, value]) => value)
    const centre = mean(values)
    if (centre < 3) continue
    const variance = values.reduce((sum, x) => sum + (x - centre) ** 2, 0) / (own.length - 1)
    excess += (variance - chance(centre)) * own.length
    squares += centre * centre * own.length
  }
  return squares === 0 ? 0 : rounded(Math.sqrt(Math.max(0, excess / squares)), 2)
}

/** Fits a day shape to times of day, in hours: eight peaks at their quantiles, plus an even part. */
export const shapeFit = (clocks: ReadonlyArray<number>) => {
  const [low, high] = [quantile(clocks, 0.005), quantile(clocks, 0.995)]
  const from = Math.max(0, Math.floor(low * 2) / 2)
  const to = Math.min(24, Math.max(from + 1, Math.ceil(high * 2 + 0.01) / 2))
  const cuts = Array.from({ length: 9 }, (_, index) => quantile(clocks, index / 8))
  const peaks = Array.from({ length: 8 }, (_, index) => ({
    at: clockText(quantile(clocks, (index + 0.5) / 8)),
    spread: durationText(Math.max(10 * minute, ((cuts[index + 1] ?? 0) - (cuts[index] ?? 0)) * 0.6 * hour)),
    weight: 0.12
  }))
  return { from: clockText(from), to: to >= 24 ? "24:00" : clockText(to), even: 0.04, peaks }
}
