/**
 * PostgreSQL returns the same results as the memory store for any sequence of calls.
 */
import { MemoryStore } from "@doorhook/core"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { times } from "@doorhook/testkit/Sample"
import { assert, it } from "@effect/vitest"
import { Layer } from "effect"
import * as fc from "fast-check"
import { CancellationBatch } from "../../src/stores/Cancellations.ts"
import * as StoreCalls from "../StoreCalls.ts"
import * as TokenCalls from "../TokenCalls.ts"
import { keptStore } from "./KeptStore.ts"

await describeOnPostgres("PostgreSQL agrees with memory", (server) => {
  const store = keptStore(server)
  // This store never moves rows of cancelled deliveries in the background, only in calls that depend on it.
  const unmoved = keptStore(server, { provide: Layer.succeed(CancellationBatch, 0) })

  it("on every sequence of calls", async () => {
    await fc.assert(
      fc.asyncProperty(StoreCalls.callSequence, async (steps) => {
        assert.deepEqual(
          await StoreCalls.carryOutOn(unmoved, steps),
          await StoreCalls.carryOutOn(MemoryStore.layer, steps)
        )
      }),
      { numRuns: times(20, 30) }
    )
  })

  it("on every sequence of calls on tokens", async () => {
    await fc.assert(
      fc.asyncProperty(TokenCalls.tokenCallSequence, async (steps) => {
        assert.deepEqual(
          await TokenCalls.carryOutOn(store, steps),
          await TokenCalls.carryOutOn(MemoryStore.layer, steps)
        )
      }),
      { numRuns: times(20, 30) }
    )
  })
})
