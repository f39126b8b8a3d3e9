/**
 * Distribution of a flow's arrivals over a day, in local time: a non-homogeneous Poisson process, sampled by inversion.
 * Inversion is exact, yields arrivals in order, and needs one random number for each arrival.
 */
import { Schema } from "effect"
import { DurationText } from "@doorhook/core"
import { normalDensity } from "../random/Arithmetic.ts"
import { exponential } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import { timeOfDay } from "../world/LocalDay.ts"
import { dayMillis, hour } from "../world/LocalTime.ts"
import type { DayShape } from "./Parameter.ts"
import { DayShapeFields, parameter } from "./Parameter.ts"

export type { DayShape } from "./Parameter.ts"

/** Length of a cell, in milliseconds. Within a cell, the intensity is constant. */
const cellMillis = 5_000

const cellsPerDay = dayMillis / cellMillis

const densityAt = (shape: DayShape, clock: number): number => {
  if (clock < shape.from || clock >= shape.to) return 0
  return shape.peaks.reduce(
    (sum, { at, spread, weight }) => (weight === 0 ? sum : sum + weight * normalDensity(clock, at, spread)),
    shape.even / (shape.to - shape.from)
  )
}

/**
 * Maximum distance of a peak from the window, in standard deviations. Beyond it, the peak's density in the window is
 * too small to compute.
 */
const furthest = 20

/** Describes why a shape is invalid; null if it is valid. */
const problemOf = (
  shape: DayShape
): { readonly path: ReadonlyArray<string | number>; readonly issue: string } | null => {
  const { even, from, peaks, to } = shape
  if (from >= to) return { path: [], issue: "must have `from` before `to`" }
  if (peaks.reduce((sum, { weight }) => sum + weight, even) <= 0)
    return { path: [], issue: "must have `even` or the weight of a peak above 0" }
  const narrow = peaks.findIndex(({ spread, weight }) => weight > 0 && spread * hour < cellMillis)
  const least = DurationText.format(cellMillis)
  if (narrow >= 0) return { path: ["peaks", narrow, "spread"], issue: `must be at least ${least}` }
  // The window must contain the middle of a cell, and arrivals from the even part or from a peak.
  const first = Math.ceil((from * hour) / cellMillis - 0.5)
  const hasCell = ((first + 0.5) * cellMillis) / hour < to
  const isNear = peaks.some(
    ({ at, spread, weight }) => weight > 0 && Math.max(from - at, at - to, 0) <= furthest * spread
  )
  return hasCell && (even > 0 || isNear)
    ? null
    : {
        path: [],
        issue: `must have arrivals between \`from\` and \`to\`: a window of at least ${least}, \`even\` above 0 or a peak within it`
      }
}

const DayShapeValue = DayShapeFields.pipe(
  Schema.decodeTo(Schema.toType(DayShapeFields).check(Schema.makeFilter((shape: DayShape) => problemOf(shape) ?? true)))
)

/** Makes a parameter for a day shape. */
export const dayShape = (usual: typeof DayShapeFields.Encoded, description: string, source?: string) =>
  parameter(DayShapeValue, usual, description, source)

/** Values computed once per shape: the mass of each cell, and the running sum for a day without a clock change. */
interface Tables {
  readonly masses: Float64Array
  readonly ordinary: Float64Array
}

const cache = new WeakMap<DayShape, Tables>()

/** Tables by the content of the shape. Each building has its own shape objects, but most of them are equal. */
const cacheByContent = new Map<string, WeakRef<Tables>>()

const tablesOf = (shape: DayShape): Tables => {
  const known = cache.get(shape)
  if (known !== undefined) return known
  const content = JSON.stringify([shape.from, shape.to, shape.even, shape.peaks])
  const tables = cacheByContent.get(content)?.deref() ?? makeTables(shape)
  cache.set(shape, tables)
  cacheByContent.set(content, new WeakRef(tables))
  return tables
}

const makeTables = (shape: DayShape): Tables => {
  const masses = Float64Array.from({ length: cellsPerDay }, (_, cell) =>
    densityAt(shape, ((cell + 0.5) * cellMillis) / hour)
  )
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  for (const [cell, mass] of masses.entries()) masses[cell] = mass / total
  return { masses, ordinary: runningSum(cellsPerDay, (cell) => masses[cell] ?? 0) }
}

const runningSum = (cells: number, massOf: (cell: number) => number): Float64Array => {
  const sums = new Float64Array(cells + 1)
  for (let cell = 0; cell < cells; cell++) sums[cell + 1] = (sums[cell] ?? 0) + massOf(cell)
  return sums
}

/**
 * Returns the share of a day's arrivals before the start of each cell, in real time since the start of the day. The
 * last entry is 1 on an ordinary day. It is less on a day with a skipped hour, and more with a repeated hour.
 */
export const cumulativeOn = (shape: DayShape, day: LocalDay): Float64Array => {
  const { masses, ordinary } = tablesOf(shape)
  if (day.change === null && day.length === dayMillis) return ordinary
  return runningSum(
    Math.ceil(day.length / cellMillis),
    (cell) => masses[Math.floor(timeOfDay(day, cell * cellMillis) / cellMillis)] ?? 0
  )
}

/**
 * Inverts the cumulative shares: returns the time, in whole milliseconds since the start of the day, by which this
 * share of the day's arrivals is reached. `share` must be at least 0 and below the last entry.
 */
export const invert = (cumulative: Float64Array, share: number): number => {
  let low = 0
  let high = cumulative.length - 1
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((cumulative[middle] ?? 0) <= share) low = middle
    else high = middle
  }
  const before = cumulative[low] ?? 0
  const mass = (cumulative[low + 1] ?? 0) - before
  const within = mass > 0 ? (share - before) / mass : 0
  // Rounding must not move the time into the next cell, which might have no arrivals.
  return low * cellMillis + Math.min(Math.floor(within * cellMillis), cellMillis - 1)
}

/** Returns the time of day, in hours, by which this share of the arrivals of an ordinary day is reached. */
export const clockAt = (shape: DayShape, share: number): number => invert(tablesOf(shape).ordinary, share) / hour

/**
 * Yields arrivals in order, in whole milliseconds since the start of the day. Their expected number is `mean` on an
 * ordinary day.
 */
export function* arrivals(day: LocalDay, shape: DayShape, mean: number, rng: Rng): IterableIterator<number> {
  if (mean <= 0) return
  const cumulative = cumulativeOn(shape, day)
  const last = cumulative[cumulative.length - 1] ?? 0
  for (let share = exponential(rng) / mean; share < last; share += exponential(rng) / mean) {
    yield invert(cumulative, share)
  }
}
