/**
 * The few figures that benchmarks quote.
 */

/** The value that a share of all values does not exceed; 0 when there are none. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0

export const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

/** So many digits that count, and whole numbers as they are. */
export const rounded = (value: number, digits = 3): number =>
  Math.abs(value) >= 10 ** (digits - 1) ? Math.round(value) : Number(value.toPrecision(digits))
