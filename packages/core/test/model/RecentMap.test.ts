import { RecentMap } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"

type Step = { readonly act: "set" | "delete"; readonly key: number }

describe("RecentMap", () => {
  it("has the entries that were set last, whatever is set and deleted", () => {
    const step: fc.Arbitrary<Step> = fc.record({
      act: fc.constantFrom("set", "set", "delete"),
      key: fc.integer({ min: 1, max: 6 })
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const map = new RecentMap<number, number>(3)
        let kept: ReadonlyArray<readonly [key: number, value: number]> = []
        steps.forEach(({ act, key }, value) => {
          const others = kept.filter(([other]) => other !== key)
          if (act === "set") {
            map.set(key, value)
            kept = [...others, [key, value] as const].slice(-3)
          } else {
            map.delete(key)
            kept = others
          }
          const expected = new Map(kept)
          for (let each = 1; each <= 6; each++) assert.strictEqual(map.get(each), expected.get(each))
        })
      })
    )
  })
})
