import { assert, describe, it } from "@effect/vitest"
import { IntegrationId } from "@doorhook/core"
import fc from "fast-check"
import { shareOf } from "../../src/services/dispatch/Shares.ts"

describe("the places of an integration", () => {
  const cases = fc.tuple(
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 20 }),
    fc.integer({ min: 1, max: 1e6 })
  )

  it("are all given out, and no more, while there are as many as workers; the parts differ by one at most", () => {
    fc.assert(
      fc.property(cases, ([places, workers, id]) => {
        const parts = Array.from({ length: workers }, (_, rank) =>
          shareOf(places, IntegrationId.make(id), { workers, rank })
        )
        assert.isAtLeast(Math.min(...parts), 1)
        assert.isAtMost(Math.max(...parts) - Math.min(...parts), 1)
        if (places < workers) return
        assert.strictEqual(
          parts.reduce((sum, part) => sum + part, 0),
          places
        )
      })
    )
  })

  it("give the odd one to another worker for each integration", () => {
    const first = (id: number) =>
      [0, 1, 2].findIndex((rank) => shareOf(10, IntegrationId.make(id), { workers: 3, rank }) === 4)
    assert.strictEqual(new Set([first(1), first(2), first(3)]).size, 3)
  })
})
