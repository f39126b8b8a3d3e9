/**
 * How a store is asked again that refuses.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { StoreError } from "../../src/ports/StoreError.ts"
import { retryUntilAvailable } from "../../src/delivery/StoreFailures.ts"

describe("a store that refuses", () => {
  it.effect("is asked again after pauses that double up to two seconds, until it answers", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const transaction = Effect.flatMap(Clock.currentTimeMillis, (now) => {
        asked.push(now)
        return asked.length <= 7
          ? Effect.fail(new StoreError({ operation: "DeliveryStore.settle", cause: new Error("away") }))
          : Effect.succeed("settled")
      })
      const waiting = yield* Effect.forkChild(retryUntilAvailable(transaction), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(waiting), "settled")
      assert.deepStrictEqual(
        asked.slice(1).map((at, nth) => at - (asked[nth] ?? 0)),
        [100, 200, 400, 800, 1_600, 2_000, 2_000]
      )
    })
  )

  it.effect("is asked once when it answers, and a defect is no refusal", () =>
    Effect.gen(function* () {
      let asked = 0
      const answer = yield* retryUntilAvailable(Effect.sync(() => ++asked))
      assert.strictEqual(answer, 1)
      const defect = yield* Effect.exit(retryUntilAvailable(Effect.die("broken")))
      assert.strictEqual(defect._tag, "Failure")
    })
  )
})
