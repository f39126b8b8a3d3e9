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
    assert.isNull(failures.status(0).store_failure)
    failures.note("settle", error("locked"), 1_000)
    failures.note("enqueue", error("disk_full"), 2_000)
    failures.note("settle", error(), 3_000)
    assert.deepStrictEqual(failures.status(3_000).store_failure, { since: 1_000, reason: "disk_full" })
    failures.clear("enqueue")
    assert.deepStrictEqual(failures.status(3_000).store_failure, { since: 1_000, reason: null })
    failures.clear("settle")
    assert.isNull(failures.status(3_000).store_failure)
  })

  it("end 10 s after the last failed publication, but not while the engine repeats an operation", () => {
    const failures = new StoreFailures()
    failures.note("heartbeat", error("locked"), 0)
    failures.note("enqueue", error("disk_full"), 1_000)
    assert.deepStrictEqual(failures.status(11_000).store_failure, { since: 0, reason: "disk_full" })
    assert.deepStrictEqual(failures.status(11_001).store_failure, { since: 0, reason: "locked" })
  })

  it("are contradicted by stored publications, unless one was refused in the last 10 s", () => {
    const failures = new StoreFailures()
    const isProven = (now: number) => failures.status(now).store_proven
    assert.isFalse(isProven(0))
    failures.published(null, 1_000)
    assert.isTrue(isProven(5_999))
    assert.isFalse(isProven(6_000))
    failures.published(error("disk_full"), 7_000)
    failures.published(null, 8_000)
    assert.isNull(failures.status(8_000).store_failure)
    assert.isFalse(isProven(8_000))
    failures.published(null, 17_000)
    assert.isFalse(isProven(17_000))
    assert.isTrue(isProven(17_001))
  })
})
