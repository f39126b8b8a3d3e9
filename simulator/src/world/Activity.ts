/**
 * How unequally people use their credentials: most a little, a few very much.
 */
import { lognormal } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"

/** Spread of the logarithm (assumed; a sample of four million users has a heavy tail, up to 400 uses a day and more). */
const sigma = 0.8

/** exp(-sigma^2 / 2): the median of a lognormal distribution with mean 1. */
const median = 0.7261490370736909

/** How many times as active as the average somebody is. */
export const activityOf = (rng: Rng): number => lognormal(rng, { median, sigma })
