/**
 * What a failing history is made shorter to, and that nothing of it goes on when it is not waited for.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { accessLog, call } from "../src/history/Events.ts"
import type { History, Operation } from "../src/history/History.ts"
import { again, newEvent, raceNew, retry } from "../src/history/History.ts"
import { shrink } from "../src/random/Shrink.ts"

const pause: Operation = { k: "idle", ms: 100 }

const long: History = {
  v: 1,
  ops: [
    newEvent(call),
    again(0, [...retry, "new_connection"]),
    raceNew(call, 5),
    newEvent(accessLog),
    pause,
    again(1, retry)
  ]
}

const within = 60_000

describe("a failing history", () => {
  it.effect("is left with the operations that it takes, each as usual as it can be", () =>
    Effect.gen(function* () {
      const fails = ({ ops }: History) => ops.some(({ k }) => k === "race_new") && ops.some(({ k }) => k === "idle")
      const shortest = yield* shrink(long, (history) => Effect.sync(() => fails(history)), within)
      assert.deepStrictEqual(shortest, { v: 1, ops: [raceNew(accessLog, 2), pause] })
    })
  )

  it.effect("is tried no more when it is not waited for any longer", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const fails = () =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        )
      const shrinking = yield* Effect.forkScoped(shrink(long, fails, within))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(shrinking)
      yield* Deferred.await(ended)
    })
  )
})
