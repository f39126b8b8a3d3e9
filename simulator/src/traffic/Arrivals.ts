/**
 * A non-homogeneous Poisson process over one day, by inversion: unit-rate arrivals, carried to real time by the inverse
 * of the cumulative intensity. Exact, in order, one uniform number for each arrival.
 */
import { exponential } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import type { DayShape } from "./DayShape.ts"
import { cumulativeOn, invert } from "./DayShape.ts"

/** The arrivals of a day on which `mean` are expected, in whole milliseconds since the start of the day, in order. */
export function* arrivals(day: LocalDay, shape: DayShape, mean: number, rng: Rng): IterableIterator<number> {
  if (mean <= 0) return
  const cumulative = cumulativeOn(shape, day)
  const last = cumulative[cumulative.length - 1] ?? 0
  for (let share = exponential(rng) / mean; share < last; share += exponential(rng) / mean) {
    yield invert(cumulative, share)
  }
}
