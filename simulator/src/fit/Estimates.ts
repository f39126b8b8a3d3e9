/** Estimators for the fit. Results are rounded to a precision that a reader can judge. */
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

/** Returns the standard deviation implied by the middle half of normal numbers, which ignores outliers. */
const robustDeviation = (numbers: ReadonlyArray<number>): number =>
  (quantile(numbers, 0.75) - quantile(numbers, 0.25)) / 1.349

export const rounded = (value: number, digits = 3): number => {
  const scale = 10 ** digits
  return Math.round(value * scale) / scale
}

/** Keeps a share between 0 and `most`. */
export const share = (value: number, most = 1): number => rounded(Math.max(0, Math.min(most, value)))

/** Estimates a clock time with its spread robustly, in the form of a scenario. */
export const clockTime = (hours: ReadonlyArray<number>) => ({
  at: clockText(quantile(hours, 0.5)),
  spread: durationText(Math.max(minute, robustDeviation(hours) * hour))
})

/** Estimates a lognormal duration from milliseconds, in the form of a scenario. */
export const lognormalFit = (millis: ReadonlyArray<number>) => ({
  median: durationText(quantile(millis, 0.5)),
  sigma: Math.min(3, rounded(robustDeviation(millis.filter((x) => x > 0).map(Math.log)), 2))
})

/** Returns the mean by weekday, without weekdays that don't occur. */
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
 * Returns the coefficient of variation of a day factor: how much more counts on the same weekday differ than by chance.
 * `chance` is the variance by chance for a mean.
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

/** Returns a day shape that follows clock times in hours: eight bells at their quantiles, over an even part. */
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
