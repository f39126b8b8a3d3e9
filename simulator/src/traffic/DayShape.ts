/**
 * How the arrivals of a flow spread over a day, by wall clock: the intensity of a non-homogeneous Poisson process, up
 * to its total.
 */
import { normalDensity } from "../random/Arithmetic.ts"
import type { LocalDay } from "../world/LocalDay.ts"
import { timeOfDay } from "../world/LocalDay.ts"
import { dayMillis, hour } from "../world/LocalTime.ts"

/** Clock times and spreads in hours; weights are relative to each other. */
export interface DayShape {
  /** Nobody comes outside [from, to). */
  readonly from: number
  readonly to: number
  /** The weight of arrivals spread evenly over the whole window. */
  readonly even: number
  readonly peaks: ReadonlyArray<{ readonly at: number; readonly spread: number; readonly weight: number }>
}

/** The intensity is constant within a cell of the grid, in milliseconds. */
export const cellMillis = 5_000

const cellsPerDay = dayMillis / cellMillis

const densityAt = (shape: DayShape, clock: number): number => {
  if (clock < shape.from || clock >= shape.to) return 0
  const peaks = shape.peaks.map(({ at, spread, weight }) => weight * normalDensity(clock, at, spread))
  return peaks.reduce((sum, peak) => sum + peak, shape.even / (shape.to - shape.from))
}

/** What is computed once for a shape: the mass of each cell, and the running sum on a day without a clock change. */
interface Tables {
  readonly masses: Float64Array
  readonly ordinary: Float64Array
}

const cache = new WeakMap<DayShape, Tables>()

/** The tables by what shapes say: each of a hundred buildings has shapes of its own, and most are the same. */
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

/** A shape with less than this in all is of peaks too far outside its window to be computed. */
const leastTotal = 1e-100

/** Whether anybody can come: some cell has an intensity, and all of them have one that is a number. */
export const isDrawable = (shape: DayShape): boolean => {
  let total = 0
  for (let cell = 0; cell < cellsPerDay; cell++) total += densityAt(shape, ((cell + 0.5) * cellMillis) / hour)
  return total >= leastTotal && total < Infinity
}

const makeTables = (shape: DayShape): Tables => {
  const masses = new Float64Array(cellsPerDay)
  let total = 0
  for (let cell = 0; cell < cellsPerDay; cell++) {
    const density = densityAt(shape, ((cell + 0.5) * cellMillis) / hour)
    masses[cell] = density
    total += density
  }
  for (let cell = 0; cell < cellsPerDay; cell++) masses[cell] = (masses[cell] ?? 0) / total
  return { masses, ordinary: runningSum(cellsPerDay, (cell) => masses[cell] ?? 0) }
}

const runningSum = (cells: number, massOf: (cell: number) => number): Float64Array => {
  const sums = new Float64Array(cells + 1)
  for (let cell = 0; cell < cells; cell++) sums[cell + 1] = (sums[cell] ?? 0) + massOf(cell)
  return sums
}

/**
 * The share of a day's arrivals that have come by the start of each cell of a day, in real time since its start. The
 * last entry is 1 on an ordinary day, less when clocks skip an hour, more when they repeat one.
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
 * When a share of the day's arrivals has come, in whole milliseconds since the start of the day: the inverse of the
 * cumulative, for shares from 0 up to but not including its last entry.
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
  // Rounding must not carry it into the next cell, where perhaps nobody comes.
  return low * cellMillis + Math.min(Math.floor(within * cellMillis), cellMillis - 1)
}

/** The clock time, in hours, by which a share of an ordinary day's arrivals has come. */
export const clockAt = (shape: DayShape, share: number): number => invert(tablesOf(shape).ordinary, share) / hour

/** The share of the day's arrivals that have come so long after its start: what `invert` inverts. */
export const reachedAt = (cumulative: Float64Array, elapsed: number): number => {
  const cell = Math.floor(elapsed / cellMillis)
  const before = cumulative[Math.min(cell, cumulative.length - 1)] ?? 0
  const after = cumulative[cell + 1] ?? before
  return before + (elapsed / cellMillis - cell) * (after - before)
}
