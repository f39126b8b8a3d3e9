import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Source } from "../src/plan/Merge.ts"
import { merge } from "../src/plan/Merge.ts"

/** The elements of each day, as offsets from the start of the day. */
const days = fc.array(fc.array(fc.nat(30), { maxLength: 8 }), { maxLength: 5 })

interface Element {
  readonly time: number
  readonly rank: number
  readonly place: number
}

/** Returns a chain of sources. Each source begins 10 after the previous one and can overlap with the next. */
const chainOf = (chain: ReadonlyArray<ReadonlyArray<number>>, number: number, opened: Array<number>) => {
  const elements = chain.map((offsets, day) =>
    offsets
      .toSorted((a, b) => a - b)
      .map((offset, place): Element => ({ time: day * 10 + offset, rank: day * 100 + number, place }))
  )
  const source = (day: number): Source<Element> | null => {
    const own = elements[day]
    if (own === undefined) return null
    return {
      from: day * 10,
      rank: day * 100 + number,
      open: () => {
        opened.push(day * 10)
        return own[Symbol.iterator]()
      },
      next: () => source(day + 1)
    }
  }
  return { first: source(0), all: elements.flat() }
}

describe("merging", () => {
  it("returns every element once, by time, then rank, then position", () => {
    fc.assert(
      fc.property(fc.array(days, { maxLength: 6 }), (chains) => {
        const made = chains.map((chain, number) => chainOf(chain, number, []))
        const merged = [
          ...merge(
            made.flatMap(({ first }) => first ?? []),
            ({ time }) => time
          )
        ]
        const expected = made
          .flatMap(({ all }) => all)
          .toSorted((a, b) => a.time - b.time || a.rank - b.rank || a.place - b.place)
        assert.deepStrictEqual(merged, expected)
      })
    )
  })

  it("opens no source before its time", () => {
    fc.assert(
      fc.property(fc.array(days, { minLength: 1, maxLength: 6 }), (chains) => {
        const opened: Array<number> = []
        const sources = chains.flatMap((chain, number) => chainOf(chain, number, opened).first ?? [])
        for (const { time } of merge(sources, (element) => element.time)) {
          assert.isTrue(opened.every((from) => from <= time))
        }
      })
    )
  })
})
