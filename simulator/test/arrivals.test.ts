import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Rng, root } from "../src/random/Substream.ts"
import type { DayShape } from "../src/traffic/DayShape.ts"
import { arrivals, cumulativeOn, invert } from "../src/traffic/DayShape.ts"
import type { LocalDay } from "../src/world/LocalDay.ts"
import { makeLocalDay, timeOfDay } from "../src/world/LocalDay.ts"
import { dayMillis, hour } from "../src/world/LocalTime.ts"
import { startAt, uniformityPValue } from "./support.ts"

const dayOf = (date: string): LocalDay => makeLocalDay(startAt(date) / dayMillis, "Europe/Berlin")

const ordinary = dayOf("2026-03-03")
const spring = dayOf("2026-03-29")
const autumn = dayOf("2026-10-25")

const shapes = fc.record({
  from: fc.integer({ min: 0, max: 10 }),
  to: fc.integer({ min: 11, max: 24 }),
  even: fc.double({ min: 0.01, max: 1, noNaN: true }),
  peaks: fc.array(
    fc.record({
      at: fc.double({ min: 0, max: 24, noNaN: true }),
      spread: fc.double({ min: 0.1, max: 3, noNaN: true }),
      weight: fc.double({ min: 0, max: 2, noNaN: true })
    }),
    { maxLength: 3 }
  )
})

const twoPeaks: DayShape = {
  from: 6,
  to: 23,
  even: 0.2,
  peaks: [
    { at: 8, spread: 0.5, weight: 0.4 },
    { at: 18, spread: 1.2, weight: 0.4 }
  ]
}

/**
 * Returns a function that gives the share of arrivals before a time of day in hours. The function sums the shape second
 * by second, with the built-in `Math`.
 */
const shareBefore = (shape: DayShape): ((clock: number) => number) => {
  const density = (h: number) =>
    shape.even / (shape.to - shape.from) +
    shape.peaks.reduce(
      (sum, { at, spread, weight }) =>
        sum + (weight * Math.exp(-(((h - at) / spread) ** 2) / 2)) / (spread * Math.sqrt(2 * Math.PI)),
      0
    )
  const sums = [0]
  for (let second = 0; second < 86_400; second++) {
    const clock = (second + 0.5) / 3_600
    sums.push((sums[second] ?? 0) + (clock >= shape.from && clock < shape.to ? density(clock) : 0))
  }
  return (clock) => {
    const second = Math.floor(clock * 3_600)
    const before = sums[second] ?? 0
    const mass = (sums[second + 1] ?? before) - before
    return (before + (clock * 3_600 - second) * mass) / (sums.at(-1) ?? 1)
  }
}

describe("the inverse of the cumulative intensity", () => {
  it("rises with the share and stays within the day and the window", () => {
    const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(shapes, fc.constantFrom(ordinary, spring, autumn), share, share, (shape, day, one, other) => {
        const cumulative = cumulativeOn(shape, day)
        const last = cumulative[cumulative.length - 1] ?? 0
        const [low, high] = one < other ? [one, other] : [other, one]
        const [early, late] = [invert(cumulative, low * last), invert(cumulative, high * last)]
        assert.isAtMost(early, late)
        for (const elapsed of [early, late]) {
          assert.isTrue(Number.isInteger(elapsed) && elapsed >= 0 && elapsed < day.length)
          const clock = timeOfDay(day, elapsed) / hour
          assert.isTrue(clock >= shape.from && clock < shape.to, `${clock} in ${shape.from}-${shape.to}`)
        }
      })
    )
  })

  it("finds the time by which a share is reached", () => {
    const cumulative = cumulativeOn(twoPeaks, ordinary)
    const share = shareBefore(twoPeaks)
    for (const clock of [6.5, 7.75, 8, 12, 17, 18.4, 22]) {
      assert.isBelow(Math.abs(invert(cumulative, share(clock)) - clock * hour), 1_000)
    }
  })

  it("skips and repeats the same hour as the clocks", () => {
    const night: DayShape = { from: 0, to: 6, even: 1, peaks: [] }
    assert.closeTo(cumulativeOn(night, ordinary).at(-1) ?? 0, 1, 1e-9)
    assert.closeTo(cumulativeOn(night, spring).at(-1) ?? 0, 5 / 6, 1e-9)
    assert.closeTo(cumulativeOn(night, autumn).at(-1) ?? 0, 7 / 6, 1e-9)
  })
})

/**
 * Rescales the gaps between arrivals to rate one, and turns them into numbers that are uniform if the arrivals are a
 * Poisson process.
 */
const rescaledGaps = (times: ReadonlyArray<number>, share: (clock: number) => number, mean: number) => {
  const reached = times.map((time) => mean * share(time / hour))
  return reached.map((value, index) => 1 - Math.exp(-(value - (reached[index - 1] ?? 0))))
}

describe("arrivals", () => {
  const mean = 900
  const times = [...arrivals(ordinary, twoPeaks, mean, new Rng(root(5)))]
  const share = shareBefore(twoPeaks)

  it("are a Poisson process of the shape's intensity", () => {
    assert.isAbove(uniformityPValue(rescaledGaps(times, share, mean)), 0.001)
  })

  it("fail the test if they are evenly spaced or have another shape", () => {
    const cumulative = cumulativeOn(twoPeaks, ordinary)
    const even = Array.from({ length: mean }, (_, n) => invert(cumulative, (n + 0.5) / mean))
    assert.isBelow(uniformityPValue(rescaledGaps(even, share, mean)), 1e-6)
    const flat: DayShape = { from: 6, to: 23, even: 1, peaks: [] }
    const other = [...arrivals(ordinary, flat, mean, new Rng(root(5)))]
    assert.isBelow(uniformityPValue(rescaledGaps(other, share, mean)), 1e-6)
  })

  it("fail the test no more often than by chance", () => {
    // With 400 seeds at 1 %, 4 rejections are expected. The probability of more than 12 is 0.03 %.
    let rejected = 0
    for (let seed = 0; seed < 400; seed++) {
      const day = [...arrivals(ordinary, twoPeaks, 100, new Rng(root(seed)))]
      if (uniformityPValue(rescaledGaps(day, share, 100)) < 0.01) rejected++
    }
    assert.isAtMost(rejected, 12)
  })
})
