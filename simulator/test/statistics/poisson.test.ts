/**
 * Size and power of the tests on arrivals: they reject the model no more often than their level says, and reject
 * everything else.
 */
import { assert, describe, it } from "@effect/vitest"
import { Rng, root } from "../../src/random/Substream.ts"
import type { DayShape } from "../../src/traffic/DayShape.ts"
import { arrivals, cellMillis, cumulativeOn, invert } from "../../src/traffic/DayShape.ts"
import { Evenness } from "../../src/validate/Observations.ts"
import { rescaledGaps, spacing } from "./PoissonTests.ts"
import { chiSquareTail, independence, uniformity } from "./Statistics.ts"
import { makeLocalDay } from "../../src/world/LocalDay.ts"

const day = makeLocalDay(20_515, "Europe/Berlin")
const mean = 900
const seeds = 200
const level = 0.01

const shape: DayShape = {
  from: 6,
  to: 22,
  even: 0.2,
  peaks: [
    { at: 8.8, spread: 0.6, weight: 0.4 },
    { at: 17.5, spread: 1.2, weight: 0.4 }
  ]
}
const flat: DayShape = { from: 6, to: 22, even: 1, peaks: [] }
const cumulative = cumulativeOn(shape, day)

/** Returns the share of the day's arrivals before a time: the inverse of `invert`. */
const reachedAt = (sums: Float64Array, elapsed: number): number => {
  const cell = Math.floor(elapsed / cellMillis)
  const before = sums[Math.min(cell, sums.length - 1)] ?? 0
  const after = sums[cell + 1] ?? before
  return before + (elapsed / cellMillis - cell) * (after - before)
}

type Days = (seed: number) => ReadonlyArray<number>

const model: Days = (seed) => [...arrivals(day, shape, mean, new Rng(root(seed)))]
const rounded =
  (to: number): Days =>
  (seed) =>
    model(seed).map((time) => Math.floor(time / to) * to)
const ticks: Days = () => Array.from({ length: mean }, (_, n) => invert(cumulative, (n + 0.5) / mean))
const jittered: Days = (seed) => {
  const rng = new Rng(root(`${seed} jitter`))
  return Array.from({ length: mean }, (_, n) =>
    invert(cumulative, Math.min((n + rng.uniform()) / mean, 0.99999))
  ).toSorted((a, b) => a - b)
}
const homogeneous: Days = (seed) => [...arrivals(day, flat, mean, new Rng(root(seed)))]
/**
 * Arrivals of groups in which followers badge as well, without reduction to the leaders. One badge in four is right
 * behind another.
 */
const ungrouped: Days = (seed) => {
  const rng = new Rng(root(`${seed} followers`))
  return model(seed)
    .flatMap((time) => (rng.uniform() < 0.35 ? [time, time + 1_500] : [time]))
    .toSorted((a, b) => a - b)
}

const rescaling = (days: Days) => (seed: number) =>
  uniformity(rescaledGaps(days(seed).map((time) => mean * reachedAt(cumulative, time))))
const lewis =
  (days: Days, resolution = 0) =>
  (seed: number) => {
    const rng = new Rng(root(`${seed} resolution`))
    // Spreads rounded timestamps at random over the rounding interval.
    const times = days(seed).map((time) => time + rng.uniform() * resolution)
    return uniformity(
      spacing(
        times.toSorted((a, b) => a - b),
        900_000
      ).lewis
    )
  }
const boxed = (days: Days) => (seed: number) =>
  independence(rescaledGaps(days(seed).map((time) => mean * reachedAt(cumulative, time))))

/** Returns the share of seeds that a test rejects. */
const rejected = (test: (seed: number) => number, count = seeds): number => {
  let hits = 0
  for (let seed = 0; seed < count; seed++) if (test(seed) < level) hits++
  return hits / count
}

/** With 200 seeds at 1 %, the number of rejections is at most 8 with a probability of 99.9 %. */
const band = 8 / seeds

describe("tests on arrivals", () => {
  it("accept the model", () => {
    assert.isAtMost(rejected(rescaling(model)), band)
    assert.isAtMost(rejected(lewis(model)), band)
    assert.isAtMost(rejected(boxed(model)), band)
    assert.isAtMost(rejected(lewis(rounded(1_000), 1_000)), band)
  })

  it.each([
    ["even ticks along the intensity", ticks],
    ["ticks with jitter of one slot", jittered],
    ["timestamps rounded to minutes", rounded(60_000)],
    ["followers not collapsed to leaders", ungrouped]
  ])("reject %s", (_, days) => {
    assert.strictEqual(rejected(rescaling(days), 20), 1)
    assert.strictEqual(rejected(lewis(days), 20), 1)
  })

  it("reject a flat day by its shape only", () => {
    assert.strictEqual(rejected(rescaling(homogeneous), 20), 1)
    assert.isAtMost(rejected(lewis(homogeneous)), band)
  })
})

describe("spacing without knowing who leads", () => {
  const meanOf = (times: ReadonlyArray<number>, dead: number) => {
    const evenness = new Evenness(dead)
    for (const time of times) evenness.add("door", time)
    return evenness.mean
  }

  it("is random for the model and its groups, and even for ticks", () => {
    assert.closeTo(meanOf(model(3), 2_500), 0.48, 0.05)
    assert.closeTo(meanOf(ungrouped(3), 2_500), 0.48, 0.05)
    assert.isAbove(meanOf(ticks(3), 0), 0.8)
  })
})

describe("statistics", () => {
  it("agree with tables", () => {
    assert.closeTo(chiSquareTail(18.307, 10), 0.05, 1e-4)
    assert.closeTo(chiSquareTail(124.342, 100), 0.05, 1e-4)
  })
})
