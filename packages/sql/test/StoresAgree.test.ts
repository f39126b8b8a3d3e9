/**
 * SQLite returns the same results as the memory store for any sequence of calls.
 */
import { MemoryStore } from "@doorhook/core"
import { SqliteStore } from "@doorhook/sql"
import { times } from "@doorhook/testkit/Sample"
import { assert, describe, it } from "@effect/vitest"
import { Layer } from "effect"
import * as fc from "fast-check"
import { CancellationBatch } from "../src/stores/Cancellations.ts"
import { callSequence, carryOutOn } from "./StoreCalls.ts"

describe("stores agree", () => {
  it("on every sequence of calls", async () => {
    await fc.assert(
      fc.asyncProperty(callSequence, async (steps) => {
        assert.deepEqual(
          await carryOutOn(SqliteStore.layer({ filename: ":memory:" }), steps),
          await carryOutOn(MemoryStore.layer, steps)
        )
      }),
      { numRuns: times(120, 200) }
    )
    // The timeout is generous, because the test takes many times longer on a busy machine.
  }, 300_000)

  it("even while cancelled deliveries of an integration are updated one by one", async () => {
    const unmoved = SqliteStore.layer({ filename: ":memory:" }).pipe(Layer.provide(Layer.succeed(CancellationBatch, 1)))
    await fc.assert(
      fc.asyncProperty(callSequence, async (steps) => {
        assert.deepEqual(await carryOutOn(unmoved, steps), await carryOutOn(MemoryStore.layer, steps))
      }),
      { numRuns: times(40, 60) }
    )
  }, 300_000)
})
