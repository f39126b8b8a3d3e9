/**
 * SQLite returns the same results as the memory store for any sequence of token calls.
 */
import { MemoryStore } from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { carryOutOn, tokenCallSequence } from "./TokenCalls.ts"

describe("token stores agree", () => {
  it("on every sequence of calls", async () => {
    await fc.assert(
      fc.asyncProperty(tokenCallSequence, async (steps) => {
        assert.deepEqual(
          await carryOutOn(SqliteStore.layer({ filename: ":memory:" }), steps),
          await carryOutOn(MemoryStore.layer, steps)
        )
      }),
      { numRuns: 100 }
    )
  })
})
