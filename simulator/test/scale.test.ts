/** Plans of many buildings, and estimates of what a service for them needs. */
import { assert, describe, it } from "@effect/vitest"
import { readScenario, records } from "@doorhook/simulator"
import { Effect, Result } from "effect"
import { createHash } from "node:crypto"
import { slices } from "../src/plan/Plan.ts"
import { lineOf } from "../src/plan/PlannedEvent.ts"
import { platform, printed, simulate } from "./simulateCli.ts"
import { startAt } from "./support.ts"

const minute = 60_000
const house = { name: "House", time_zone: "Europe/Berlin", homes: { flats: 60 } }
const houses = (copies: number) =>
  Result.getOrThrow(readScenario(JSON.stringify({ name: "houses", buildings: [{ ...house, copies }] })))

describe("a plan of many buildings", () => {
  it("has the same events of a building, whether it keeps its buildings or makes them again for each slice", () => {
    const options = { seed: 3, start: startAt("2026-03-06T17:00"), duration: 90 * minute, rateScale: 10 }
    const linesOf = (copies: number, mostPeople: number) =>
      [...slices(houses(copies), options, mostPeople)]
        .flat()
        .filter(({ occurrence }) => occurrence.building_id === 7)
        .map(lineOf)
    const [few, many] = [linesOf(8, Infinity), linesOf(24, 0)]
    assert.isAbove(few.length, 50)
    assert.deepStrictEqual(many, few)
  })

  it("has unique ids with more buildings than nine bits can number", () => {
    const window = { seed: 1, start: startAt("2026-03-06T18:00"), duration: 2 * minute }
    const seen = new Map<number, string>()
    for (const { occurrence } of records(houses(600), window)) {
      const what = `${occurrence.building_id} ${occurrence.time} ${occurrence._tag}`
      assert.strictEqual(seen.get(occurrence.id) ?? what, what)
      seen.set(occurrence.id, what)
    }
    assert.isAbove(seen.size, 300)
  })

  it("is the same, byte for byte, as its parts one after the other", () => {
    const hashOf = (parts: ReadonlyArray<readonly [start: string, minutes: number]>) => {
      const hash = createHash("sha256")
      for (const [start, minutes] of parts)
        for (const slice of slices(
          houses(40),
          { seed: 2, start: startAt(start), duration: minutes * minute, rateScale: 10 },
          0
        ))
          for (const record of slice) hash.update(lineOf(record))
      return hash.digest("hex")
    }
    assert.strictEqual(
      hashOf([["2026-03-06T18:00", 20]]),
      hashOf([
        ["2026-03-06T18:00", 7],
        ["2026-03-06T18:07", 13]
      ])
    )
  })
})

describe("simulate size", () => {
  it.live("says what a service needs, and where each number comes from", () =>
    Effect.gen(function* () {
      yield* simulate("size", "--preset", "quiet", "--buildings", "250000", "--receiver", "shared,workers:4,queue:200")
      const text = yield* printed
      for (const line of [
        /^events a day +1[0-9],\d00,000 +a week of 32 of these buildings$/m,
        /^processes +\d+ +.*deliver-peers/m,
        /^shared endpoint +7[0-9]\.?\d* requests\/s .*TOO SMALL$/m,
        /^disk a day +\d+(\.\d)? GB/m
      ])
        assert.match(text, line)
    }).pipe(Effect.provide(platform()))
  )

  it.live("refuses impossible sizes", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(simulate("size", "--buildings", "0"))
      assert.match(String(failure), /--buildings 0: expected a whole number from 1 to 100000000/)
    }).pipe(Effect.provide(platform()))
  )
})
