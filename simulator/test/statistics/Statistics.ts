/** Hypothesis tests for arrivals. */

/** Standard normal distribution function (Abramowitz and Stegun 7.1.26; error below 1.5e-7). */
const normalCdf = (z: number): number => {
  const x = Math.abs(z) / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * x)
  const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
  const error = 1 - series * Math.exp(-x * x)
  return z >= 0 ? (1 + error) / 2 : (1 - error) / 2
}

/** P-value of a Kolmogorov-Smirnov distance for an effective sample size (Stephens 1970). */
const kolmogorov = (distance: number, size: number): number => {
  const lambda = (Math.sqrt(size) + 0.12 + 0.11 / Math.sqrt(size)) * distance
  if (lambda < 0.2) return 1
  let p = 0
  for (let k = 1; k <= 100; k++) p += 2 * (k % 2 === 1 ? 1 : -1) * Math.exp(-2 * k * k * lambda * lambda)
  return Math.min(1, Math.max(0, p))
}

/** Kolmogorov-Smirnov test of whether numbers are uniform on [0, 1]. */
export const uniformity = (numbers: ReadonlyArray<number>): number => {
  const sorted = numbers.toSorted((a, b) => a - b)
  const n = sorted.length
  let distance = 0
  for (const [i, u] of sorted.entries()) distance = Math.max(distance, (i + 1) / n - u, u - i / n)
  return kolmogorov(distance, n)
}

const lnGamma = (x: number): number => {
  // Lanczos approximation, g = 7.
  const coefficients = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7
  ]
  const y = x - 1
  let sum = 0.9999999999998099
  for (const [index, coefficient] of coefficients.entries()) sum += coefficient / (y + index + 1)
  const t = y + 7.5
  return 0.5 * Math.log(2 * Math.PI) + (y + 0.5) * Math.log(t) - t + Math.log(sum)
}

/** Share of a gamma distribution above x: the regularized upper incomplete gamma function. */
const upperGamma = (shape: number, x: number): number => {
  if (x <= 0) return 1
  const front = Math.exp(shape * Math.log(x) - x - lnGamma(shape))
  if (x < shape + 1) {
    let term = 1 / shape
    let sum = term
    for (let n = 1; n < 1_000 && term > sum * 1e-14; n++) {
      term *= x / (shape + n)
      sum += term
    }
    return Math.max(0, 1 - front * sum)
  }
  // Lentz's continued fraction.
  let b = x + 1 - shape
  let c = 1e300
  let d = 1 / b
  let h = d
  for (let n = 1; n < 1_000; n++) {
    const a = -n * (n - shape)
    b += 2
    d = 1 / (a * d + b)
    c = b + a / c
    const step = c * d
    h *= step
    if (Math.abs(step - 1) < 1e-14) break
  }
  return front * h
}

/** Probability of a chi-square value that is at least this large. */
export const chiSquareTail = (value: number, freedom: number): number => upperGamma(freedom / 2, value / 2)

/** Standard normal quantile by bisection of the distribution function, which is precise enough for tests. */
const quantile = (p: number): number => {
  let [low, high] = [-8, 8]
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2
    if (normalCdf(middle) < p) low = middle
    else high = middle
  }
  return low
}

/** Ljung-Box test of whether uniform numbers are independent of each other, over this many lags. */
export const independence = (uniforms: ReadonlyArray<number>, lags = 10): number => {
  const normals = uniforms.map((u) => quantile(Math.min(1 - 1e-9, Math.max(1e-9, u))))
  const n = normals.length
  const mean = normals.reduce((sum, z) => sum + z, 0) / n
  const centred = normals.map((z) => z - mean)
  const variance = centred.reduce((sum, z) => sum + z * z, 0)
  if (variance === 0) return 0
  let statistic = 0
  for (let lag = 1; lag <= lags; lag++) {
    let product = 0
    for (let i = lag; i < n; i++) product += (centred[i] ?? 0) * (centred[i - lag] ?? 0)
    statistic += (product / variance) ** 2 / (n - lag)
  }
  return chiSquareTail(n * (n + 2) * statistic, lags)
}
