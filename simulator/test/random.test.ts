import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { exp, ln, normalQuantile } from "../src/random/Arithmetic.ts"
import { dayFactor, exponential, lognormal, poisson, standardNormal, weighted } from "../src/random/Distribution.ts"
import { child, Rng, root } from "../src/random/Substream.ts"

const draws = (count: number, draw: (rng: Rng) => number, seed = 1): ReadonlyArray<number> => {
  const rng = new Rng(root(seed))
  return Array.from({ length: count }, () => draw(rng))
}

const mean = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, x) => sum + x, 0) / numbers.length

const deviation = (numbers: ReadonlyArray<number>): number => {
  const center = mean(numbers)
  return Math.sqrt(mean(numbers.map((x) => (x - center) ** 2)))
}

/** Returns the relative difference of two numbers. */
const difference = (a: number, b: number): number => Math.abs(a - b) / Math.max(1e-300, Math.abs(b))

describe("arithmetic from exactly defined operations", () => {
  it("agrees with the engine's functions", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-12, max: 1e12, noNaN: true }), (x) => {
        assert.isBelow(Math.abs(ln(x) - Math.log(x)), 1e-14 * Math.max(1, Math.abs(Math.log(x))))
      })
    )
    fc.assert(
      fc.property(fc.double({ min: -700, max: 700, noNaN: true }), (x) => {
        assert.isBelow(difference(exp(x), Math.exp(x)), 1e-12)
      })
    )
  })

  it("handles its limits", () => {
    assert.deepStrictEqual([ln(0), ln(Infinity), exp(-1e9), exp(1e9)], [-Infinity, Infinity, 0, Infinity])
    assert.isNaN(ln(-1))
  })

  it("inverts the normal distribution", () => {
    // Quantiles from tables.
    for (const [p, z] of [
      [0.5, 0],
      [0.8413447460685429, 1],
      [0.975, 1.959963984540054],
      [0.0013498980316301, -3],
      [0.999, 3.090232306167813]
    ] as const) {
      assert.isBelow(Math.abs(normalQuantile(p) - z), 1e-8)
    }
  })
})

describe("substreams", () => {
  it("give the same numbers everywhere and forever", () => {
    const rng = new Rng(child(child(root(1), "building"), 7))
    assert.deepStrictEqual(
      Array.from({ length: 4 }, () => rng.uint32()),
      [3650571459, 1745685303, 2528455400, 3727926988]
    )
  })

  it("differ by every part of their name", () => {
    const names = [
      child(child(root(1), "ab"), "c"),
      child(child(root(1), "a"), "bc"),
      child(root(1), "abc"),
      child(child(root(1), "c"), "ab"),
      child(child(root(2), "ab"), "c"),
      child(child(root(1), "ab"), "c\u0000"),
      child(child(child(root(1), "ab"), ""), "c")
    ]
    assert.strictEqual(new Set(names.map((name) => name.join(" "))).size, names.length)
  })

  it("are independent for neighbouring days", () => {
    // The same draw on 20,000 consecutive days is as uniform as numbers from one stream: chi-square over 100 cells, 99
    // degrees of freedom.
    const counts = Array.from({ length: 100 }, () => 0)
    for (let day = 0; day < 20_000; day++) {
      const cell = new Rng(child(root(3), day)).below(100)
      counts[cell] = (counts[cell] ?? 0) + 1
    }
    const chiSquare = counts.reduce((sum, count) => sum + (count - 200) ** 2 / 200, 0)
    // For uniform draws, the probability of a value below 57 or above 156 is 0.05 %.
    assert.isTrue(chiSquare > 57 && chiSquare < 156, `chi-square ${chiSquare}`)
  })
})

describe("distributions", () => {
  const size = 50_000

  it("have the right mean and spread", () => {
    const uniform = draws(size, (rng) => rng.uniform())
    assert.isBelow(Math.abs(mean(uniform) - 0.5), 0.006)
    assert.isBelow(Math.abs(deviation(uniform) - Math.sqrt(1 / 12)), 0.004)
    assert.isTrue(uniform.every((x) => x >= 0 && x < 1))
    const unit = draws(size, exponential)
    assert.isBelow(Math.abs(mean(unit) - 1), 0.02)
    assert.isBelow(Math.abs(deviation(unit) - 1), 0.04)
    const bell = draws(size, standardNormal)
    assert.isBelow(Math.abs(mean(bell)), 0.02)
    assert.isBelow(Math.abs(deviation(bell) - 1), 0.015)
    const counts = draws(size, (rng) => poisson(rng, 1.5))
    assert.isBelow(Math.abs(mean(counts) - 1.5), 0.03)
    assert.isBelow(Math.abs(deviation(counts) ** 2 - 1.5), 0.06)
  })

  it("draw day factors around 1", () => {
    for (const variation of [0.1, 0.18, 0.5]) {
      const factors = draws(size, (rng) => dayFactor(rng, variation))
      assert.isBelow(Math.abs(mean(factors) - 1), 0.01)
      assert.isBelow(Math.abs(deviation(factors) - variation), 0.02 * variation + 0.005)
    }
    assert.strictEqual(dayFactor(new Rng(root(1)), 0), 1)
  })

  it("have the given median and shares", () => {
    const seconds = draws(size, (rng) => lognormal(rng, { median: 9, sigma: 0.6 })).toSorted((a, b) => a - b)
    assert.isBelow(Math.abs((seconds[size / 2] ?? 0) - 9), 0.2)
    const kinds = draws(size, (rng) =>
      weighted(
        rng,
        [
          [1, 0.7],
          [2, 0.2]
        ],
        3
      )
    )
    for (const [kind, share] of [
      [1, 0.7],
      [2, 0.2],
      [3, 0.1]
    ]) {
      assert.isBelow(Math.abs(kinds.filter((x) => x === kind).length / size - (share ?? 0)), 0.01)
    }
  })
})
