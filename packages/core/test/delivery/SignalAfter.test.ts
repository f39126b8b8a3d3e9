import { StoreError, WakeSignal } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { signalAfter } from "../../src/delivery/SignalAfter.ts"

const failing = (outcome?: "unknown" | "begun") =>
  Effect.fail(new StoreError({ operation: "DeliveryStore.recover", cause: "lost", ...(outcome && { outcome }) }))

/** Returns how often the dispatchers are woken after a change. */
const signalsOf = Effect.fnUntraced(function* (change: Effect.Effect<number, StoreError>, interrupted = false) {
  let signals = 0
  const wake = WakeSignal.of({ signal: Effect.sync(() => void signals++), wait: Effect.never, changes: Effect.never })
  const made = yield* Effect.forkChild(
    signalAfter(wake, change, (count) => count > 0),
    { startImmediately: true }
  )
  if (interrupted) yield* Fiber.interrupt(made)
  yield* Fiber.await(made)
  return signals
})

describe("a change that leaves something to send", () => {
  it.effect("wakes the dispatchers if it was made, or if its outcome is unknown", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* signalsOf(Effect.succeed(2)), 1)
      assert.strictEqual(yield* signalsOf(Effect.succeed(0)), 0)
      assert.strictEqual(yield* signalsOf(failing("unknown")), 1)
      assert.strictEqual(yield* signalsOf(failing("begun")), 1)
      assert.strictEqual(yield* signalsOf(failing()), 0)
      assert.strictEqual(yield* signalsOf(Effect.never, true), 1, "whoever asked has hung up")
    })
  )
})
