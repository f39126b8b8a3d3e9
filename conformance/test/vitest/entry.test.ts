/**
 * The entry for vitest, as the author of a receiver uses it: on one that is good, and in a project of its own on one
 * that is not.
 */
import { receiverSuite } from "@doorhook/conformance/vitest"
import type { StartedReceiver } from "@doorhook/conformance/vitest"
import { startNode } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { fileURLToPath } from "node:url"
import { httpProbe } from "../../src/probes/HttpProbe.ts"
import { inProcess } from "../../src/receivers/InProcess.ts"

/** Starts the bundled receiver, as a project starts its own. */
const start = async (): Promise<StartedReceiver> => {
  const scope = Scope.makeUnsafe()
  const origin = await Effect.runPromise(
    inProcess({ change: () => ({}), secret: null, deadline: 5_000 }).pipe(Scope.provide(scope))
  )
  return {
    url: new URL("/hook", origin).href,
    probe: async (webhookId) => {
      const { digest, effects } = await Effect.runPromise(
        httpProbe(new URL("/probe", origin)).read({ webhookId, resourceType: "", dataId: "", endpoint: null })
      )
      // Hex is hex in either case.
      return { effects, ...(digest === null ? {} : { digest: digest.toUpperCase() }) }
    },
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

receiverSuite({
  start,
  level: 2,
  settle: 2_000,
  maxTime: 20_000,
  only: ["R-ACK-02", "R-DUP-04", "R-HTTP-02", "R-LOS-03"]
})

describe("receiverSuite", () => {
  it("refuses a requirement that there is not, and sends nothing", () => {
    assert.throws(() => receiverSuite({ start, only: ["R-DPU-02"] }), "only: R-DPU-02 is no requirement; did you mean")
  })

  it("fails the test of the requirement that is broken, with the story of it, and no other", async () => {
    const file = fileURLToPath(new URL("faulty/vitest.config.ts", import.meta.url))
    const bin = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url))
    const env = { VITEST: "", VITEST_WORKER_ID: "", VITEST_POOL_ID: "" }
    const { code, stderr, stdout } = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(startNode([bin, "run", "--config", file], { env }), ({ finished }) =>
          Effect.promise(() => finished)
        )
      )
    )
    const output = stdout + stderr
    assert.strictEqual(code, 1, output)
    assert.match(output, /× R-DUP-01/)
    assert.match(output, /1 failed \| 1 passed/)
    assert.include(output, "sent  the same event again")
    assert.include(output, "409")
    assert.include(output, "npx doorhook conformance")
  })
})
