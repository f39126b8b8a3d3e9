/**
 * Statistics for benchmark results.
 */

/** Returns the quantile `share` (0.99 for p99) by the nearest-rank method; 0 for no values. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0

export const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

/** Rounds to significant digits, but keeps all digits before the decimal point. */
export const rounded = (value: number, digits = 3): number =>
  Math.abs(value) >= 10 ** (digits - 1) ? Math.round(value) : Number(value.toPrecision(digits))

/** Describes latencies. */
export const spread = (values: ReadonlyArray<number>): string =>
  `p50 ${rounded(quantile(values, 0.5))} ms, p95 ${rounded(quantile(values, 0.95))} ms, p99 ${rounded(quantile(values, 0.99))} ms, at most ${rounded(Math.max(...values))} ms`
