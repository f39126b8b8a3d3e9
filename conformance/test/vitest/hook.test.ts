/**
 * The functions with which a test operates its receiver.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { functionHook } from "../../src/hooks/Commands.ts"

describe("a hook of a test", () => {
  it.effect("fails if it never settles, even if it can't be interrupted", () =>
    Effect.gen(function* () {
      const restart = functionHook("restart", () => new Promise<void>(() => undefined))?.() ?? assert.fail()
      const waiting = yield* Effect.forkChild(Effect.uninterruptible(Effect.flip(restart)))
      yield* TestClock.adjust("30 seconds")
      const { message } = yield* Fiber.join(waiting)
      assert.strictEqual(message, "the test's `restart` did not end within 30 s")
    })
  )
})
