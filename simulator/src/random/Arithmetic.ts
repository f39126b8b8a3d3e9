/**
 * Functions of real numbers for distributions, accurate to a few units in the last place. They use only operations that
 * give the same bits on every engine, unlike `Math.exp` and `Math.log`, whose last digit can differ.
 */

/** Natural logarithm of a positive number. */
export const ln = (x: number): number => {
  if (x <= 0) return x === 0 ? -Infinity : NaN
  if (x === Infinity) return x
  // x = mantissa * 2^exponent with the mantissa near 1; doubling and halving are exact.
  let mantissa = x
  let exponent = 0
  while (mantissa < 0.7) {
    mantissa *= 2
    exponent--
  }
  while (mantissa >= 1.4) {
    mantissa /= 2
    exponent++
  }
  // ln m = 2 artanh((m - 1) / (m + 1)); the argument is at most 0.177, so eleven terms are enough.
  const s = (mantissa - 1) / (mantissa + 1)
  const square = s * s
  let series = 0
  for (let n = 21; n >= 1; n -= 2) series = series * square + 1 / n
  return 2 * s * series + exponent * Math.LN2
}

/** e to the power of x. */
export const exp = (x: number): number => {
  if (x > 709) return Infinity
  if (x < -708) return 0
  const exponent = Math.floor(x / Math.LN2 + 0.5)
  const rest = x - exponent * Math.LN2
  let series = 1
  for (let n = 14; n >= 1; n--) series = 1 + (series * rest) / n
  for (let n = 0; n < exponent; n++) series *= 2
  for (let n = 0; n > exponent; n--) series /= 2
  return series
}

/** Density of a normal distribution at x. */
export const normalDensity = (x: number, mean: number, deviation: number): number => {
  const z = (x - mean) / deviation
  return exp((-z * z) / 2) / (deviation * 2.5066282746310002)
}

const polynomial = (x: number, coefficients: ReadonlyArray<number>): number =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0)

const centralNumerator = [
  -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239
]
const centralDenominator = [
  -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1
]
const tailNumerator = [
  -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783
]
const tailDenominator = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1]

/** Standard normal quantile for 0 < p < 1, by Peter Acklam's rational approximation (relative error 1.2e-9). */
export const normalQuantile = (p: number): number => {
  if (p > 0.97575) return -normalQuantile(1 - p)
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * ln(p))
    return polynomial(q, tailNumerator) / polynomial(q, tailDenominator)
  }
  const q = p - 0.5
  const r = q * q
  return (polynomial(r, centralNumerator) * q) / polynomial(r, centralDenominator)
}
