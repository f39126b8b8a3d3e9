/**
 * Repeated calls to a failing store.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { StoreError } from "../../src/ports/StoreError.ts"
import { StoreFailures, retryUntilAvailable } from "../../src/delivery/StoreFailures.ts"

describe("a failing store", () => {
  it.effect("is called until it succeeds, with pauses that double up to two seconds", () =>
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

  it.effect("is called once if it succeeds, and a defect is not repeated", () =>
    Effect.gen(function* () {
      let asked = 0
      const answer = yield* retryUntilAvailable(Effect.sync(() => ++asked))
      assert.strictEqual(answer, 1)
      const defect = yield* Effect.exit(retryUntilAvailable(Effect.die("broken")))
      assert.strictEqual(defect._tag, "Failure")
    })
  )
})

describe("the failures of a store", () => {
  const error = (reason?: "disk_full" | "locked") =>
    new StoreError({ operation: "DeliveryStore.enqueue", cause: new Error("away"), ...(reason && { reason }) })

  it("last until a success, with the reason seen last", () => {
    const failures = new StoreFailures()
    assert.isNull(failures.current(0))
    failures.note("settle", error("locked"), 1_000)
    failures.note("enqueue", error("disk_full"), 2_000)
    failures.note("settle", error(), 3_000)
    assert.deepStrictEqual(failures.current(3_000), { since: 1_000, reason: "disk_full" })
    failures.clear("enqueue")
    assert.deepStrictEqual(failures.current(3_000), { since: 1_000, reason: null })
    failures.clear("settle")
    assert.isNull(failures.current(3_000))
  })

  it("end 10 s after the last failed publication, but not while the engine repeats an operation", () => {
    const failures = new StoreFailures()
    failures.note("heartbeat", error("locked"), 0)
    failures.note("enqueue", error("disk_full"), 1_000)
    assert.deepStrictEqual(failures.current(11_000), { since: 0, reason: "disk_full" })
    assert.deepStrictEqual(failures.current(11_001), { since: 0, reason: "locked" })
  })
})
