/**
 * Whatever sequence of calls is made, PostgreSQL answers what memory answers.
 */
import { MemoryStore } from "@doorhook/core"
import { PostgresStore } from "@doorhook/sql/postgres"
import { assert, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as fc from "fast-check"
import * as StoreCalls from "../StoreCalls.ts"
import * as TokenCalls from "../TokenCalls.ts"
import { describeOnPostgres, onNewDatabase } from "@doorhook/testkit/postgres/TestServer"

await describeOnPostgres("PostgreSQL agrees with memory", (server) => {
  const store = onNewDatabase(server, (url) => PostgresStore.layer({ url: Redacted.make(url) }))

  it("on every sequence of calls", async () => {
    await fc.assert(
      fc.asyncProperty(StoreCalls.callSequence, async (steps) => {
        assert.deepEqual(
          await StoreCalls.carryOutOn(store, steps),
          await StoreCalls.carryOutOn(MemoryStore.layer, steps)
        )
      }),
      { numRuns: 30 }
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
      { numRuns: 30 }
    )
  })
})
