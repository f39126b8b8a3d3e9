/** Draws from the distributions that the traffic uses. */
import { exp, ln, normalQuantile } from "./Arithmetic.ts"
import type { Rng } from "./Substream.ts"

/** Returns true with this probability. */
export const chance = (rng: Rng, probability: number): boolean => rng.uniform() < probability

/** Draws from a uniform distribution between two numbers. */
export const between = (rng: Rng, low: number, high: number): number => low + (high - low) * rng.uniform()

/** Draws from an exponential distribution with mean 1. */
export const exponential = (rng: Rng): number => -ln(1 - rng.uniform())

/** Draws from the standard normal distribution. */
export const standardNormal = (rng: Rng): number => {
  const p = rng.uniform()
  return p === 0 ? -8.3 : normalQuantile(p)
}

/** Draws from a normal distribution with this mean and standard deviation. */
export const normal = (rng: Rng, mean: number, deviation: number): number => mean + deviation * standardNormal(rng)

/** A positive quantity given by its median and the standard deviation of its logarithm. */
export interface Lognormal {
  readonly median: number
  readonly sigma: number
}

export const lognormal = (rng: Rng, { median, sigma }: Lognormal): number => median * exp(sigma * standardNormal(rng))

/** Draws from a Poisson distribution with this mean (small means only). */
export const poisson = (rng: Rng, mean: number): number => {
  let count = 0
  for (let reached = exponential(rng); reached < mean; reached += exponential(rng)) count++
  return count
}

/**
 * Draws a factor by which a day is busier than usual, from a gamma distribution with mean 1 and a coefficient of
 * variation of at most 1. Uses the method of Marsaglia and Tsang (2000).
 */
export const dayFactor = (rng: Rng, variation: number): number => {
  if (variation === 0) return 1
  const shape = 1 / (variation * variation)
  const d = shape - 1 / 3
  const c = 1 / (3 * Math.sqrt(d))
  for (;;) {
    const x = standardNormal(rng)
    const root = 1 + c * x
    const u = 1 - rng.uniform()
    if (root <= 0) continue
    const v = root * root * root
    if (ln(u) < (x * x) / 2 + d - d * v + d * ln(v)) return (d * v) / shape
  }
}

/** Draws one of the choices with the given probabilities, or `otherwise` with the remaining probability. */
export const weighted = <A>(rng: Rng, choices: ReadonlyArray<readonly [thing: A, share: number]>, otherwise: A): A => {
  let rest = rng.uniform()
  for (const [thing, share] of choices) {
    rest -= share
    if (rest < 0) return thing
  }
  return otherwise
}

/** Draws one of these things, all with the same probability; undefined if there are none. */
export const oneOf = <A>(rng: Rng, things: ReadonlyArray<A>): A | undefined => things[rng.below(things.length)]
