/** Draws of a world: which of these, how many, whether. */
import type { Rng } from "../../random/Substream.ts"

/** A whole number from `low` to `high`, both included. */
export const between = (rng: Rng, low: number, high: number): number => low + rng.below(high - low + 1)

/** Whether something of this probability happens. */
export const happens = (rng: Rng, probability: number): boolean => rng.uniform() < probability

/** One of some things; undefined when there are none. */
export const oneOf = <A>(rng: Rng, items: ReadonlyArray<A>): A | undefined => items[rng.below(items.length)]

/** One of some things, of which there is at least one. */
export const pick = <A>(rng: Rng, items: readonly [A, ...ReadonlyArray<A>]): A => oneOf(rng, items) ?? items[0]
