import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { FailureTable } from "../../src/oauth/LoginThrottle.ts"

const capacity = 4
const limit = 3

/** A step: a key fails or is deleted, or all earlier failures expire. */
type Step = { readonly act: "fail" | "expire" | "forget"; readonly key: string }

const key = fc.integer({ min: 1, max: 8 }).map(String)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ act: fc.constant("fail"), key }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom("expire", "forget"), key }) }
)

/** The failures counted in a period. */
interface Count {
  readonly failures: number
  readonly period: number
}

describe("a table of failures", () => {
  it("never exceeds its capacity, and keeps an entry at its limit until it expires, whatever else fails", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
        const isNow = ({ period }: Count, now: number) => period === now
        const table = new FailureTable<Count>(capacity, {
          isOver: (count, now) => !isNow(count, now),
          isAtLimit: (_, count, now) => isNow(count, now) && count.failures >= limit
        })
        let now = 0
        const atLimit = new Set<string>()
        for (const { act, key } of steps) {
          if (act === "expire") {
            now++
            atLimit.clear()
          } else if (act === "forget") {
            table.delete(key)
            atLimit.delete(key)
          } else {
            const before = table.get(key)
            const failures = before !== undefined && isNow(before, now) ? before.failures + 1 : 1
            const fits = table.canKeep(key, now)
            table.set(key, { failures, period: now }, now)
            assert.strictEqual(table.get(key)?.failures, fits ? failures : undefined)
            assert.strictEqual(fits, atLimit.has(key) || atLimit.size < capacity)
            if (failures >= limit) atLimit.add(key)
          }
          assert.isAtMost(table.size, capacity)
          for (const held of atLimit) assert.isAtLeast(table.get(held)?.failures ?? 0, limit)
        }
      })
    )
  })

  it("keeps an entry whose limit was lowered after it was set", () => {
    let limitOfA = limit
    const table = new FailureTable<number>(2, {
      isOver: () => false,
      isAtLimit: (key, failures) => failures >= (key === "a" ? limitOfA : limit)
    })
    table.set("a", 1, 0)
    limitOfA = 1
    for (const key of ["b", "c", "d"]) table.set(key, 1, 0)
    assert.deepStrictEqual([table.get("a"), table.get("c"), table.get("d")], [1, undefined, 1])
  })

  it("is empty once all entries have expired", () => {
    const table = new FailureTable<number>(10, {
      isOver: (until, now) => until <= now,
      isAtLimit: (key) => key === "b"
    })
    for (const [key, until] of [
      ["a", 1],
      ["b", 2],
      ["c", 3]
    ] as const)
      table.set(key, until, 0)
    assert.isFalse(table.isEmpty(2))
    assert.isTrue(table.isEmpty(3))
    assert.strictEqual(table.size, 0)
  })
})
